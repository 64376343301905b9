// Primitive values, relationships that are not loaded, and checks in the hook of a class by key path: what there is by
// name, with the types of the properties.

import Espalier
import Testing

@Suite struct TypedPrimitiveTests {
    private func context(_ classes: [ManagedObject.Type] = [Meter.self]) throws -> ManagedObjectContext {
        let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(for: classes))
        try coordinator.addPersistentStore(.inMemory)
        return ManagedObjectContext(coordinator)
    }

    /// A saved meter "first" with a next one and two parts, and a fault of its row in another context.
    private func saved() throws -> (meter: Meter, fault: Meter, contexts: [ManagedObjectContext]) {
        let context = try context()
        let meters = (0..<3).map { _ in Meter(context: context) }
        let meter = meters[0]
        (meter.name, meter.level, meter.kind, meter.next) = ("first", 7, .gas, meters[1])
        meter.parts = [meters[2], meters[1]]
        try context.save()
        let reader = ManagedObjectContext(context.persistentStoreCoordinator)
        return (meter, try reader.object(with: meter.ref), [context, reader])
    }

    @Test func `a primitive value by key path has the type of its property, and fires no fault (MO-21, MO-22)`() throws
    {
        let (meter, fault, contexts) = try saved()
        let (noName, noLevel) = (try fault.primitiveValue(of: \.name), try fault.primitiveValue(of: \.level))
        let (noKind, noNext) = (try fault.primitiveValue(of: \.kind), try fault.primitiveValue(of: \.next))
        #expect(noName == nil && noLevel == nil && noKind == nil && noNext == nil && fault.isFault)

        fault.willAccessValue(forKey: nil)

        let (name, level) = (try fault.primitiveValue(of: \.name), try fault.primitiveValue(of: \.level))
        #expect(name == "first" && level == 7)
        let (note, kind) = (try fault.primitiveValue(of: \.note), try fault.primitiveValue(of: \.kind))
        #expect(note == nil && kind == .gas)
        let (next, parts) = (try fault.primitiveValue(of: \.next), try fault.primitiveValue(of: \.parts))
        #expect(next?.objectID == meter.next?.objectID && parts == nil)
        #expect(fault.parts.count == 2)
        let loaded = try fault.primitiveValue(of: \.parts)
        #expect(loaded == fault.parts)
        withExtendedLifetime(contexts) {}
    }

    @Test func `a primitive write by key path marks nothing, and announced it is a change (MO-21, MO-23)`() throws {
        let (meter, _, contexts) = try saved()
        let context = contexts[0]
        context.undoManager = UndoStack()

        try meter.setPrimitiveValue(8, for: \.level)
        try meter.setPrimitiveValue("seen", for: \.note)
        try meter.setPrimitiveValue(.water, for: \.kind)
        context.processPendingChanges()
        #expect(meter.level == 8 && meter.note == "seen" && meter.kind == .water)
        try meter.setPrimitiveValue(nil, for: \.note)
        #expect(meter.note == nil && !context.hasChanges && context.undoManager?.canUndo == false)

        try meter.willChangeValue(for: \.level)
        try meter.setPrimitiveValue(9, for: \.level)
        #expect(!meter.isUpdated)
        try meter.didChangeValue(for: \.level)
        #expect(meter.isUpdated && meter.level == 9)
        try context.undo()
        #expect(meter.level == 8)
        withExtendedLifetime(contexts) {}
    }

    @Test func `relationships by key path tell whether they are loaded, and where they lead (MO-13, MO-14)`() throws {
        let (meter, fault, contexts) = try saved()
        #expect(try fault.hasFault(for: \.next) && fault.hasFault(for: \.parts) && fault.isFault)

        let next = try fault.destinationRef(of: \.next)
        let parts = try fault.destinationRefs(of: \.parts)

        #expect(next == meter.next?.ref && parts == meter.parts.map(\.ref) && contexts[1].registeredObjects == [fault])
        #expect(try fault.objectIDs(forRelationshipNamed: "parts") == parts.map(\.id))
        #expect(fault.parts.count == 2)
        #expect(try !fault.hasFault(for: \.next) && !fault.hasFault(for: \.parts))
        let last = try #require(meter.next)
        let none = try last.destinationRef(of: \.next)
        #expect(none == nil)
        withExtendedLifetime(contexts) {}
    }

    @Test func `a primitive value of another type and paths of no property are errors by key path`() throws {
        let (meter, _, contexts) = try saved()
        try meter.setPrimitiveValue(.attribute(.string("odd")), forKey: Meter.propertyName(of: \.kind))
        let calls: [(property: String, call: () throws -> Void)] = [
            ("kind", { _ = try meter.primitiveValue(of: \.kind) }),
            ("\(\Meter.half)", { _ = try meter.primitiveValue(of: \.half) }),
            ("\(\Meter.half)", { try meter.setPrimitiveValue(1, for: \.half) }),
            ("\(\Meter.twins)", { _ = try meter.hasFault(for: \.twins) }),
            ("\(\Meter.twin)", { _ = try meter.hasFault(for: \.twin) }),
            ("\(\Meter.twins)", { _ = try meter.destinationRefs(of: \.twins) }),
        ]
        for (property, call) in calls {
            let error = #expect(throws: ContextError.self) { try call() }
            guard case .violations(let found)? = error else {
                Issue.record("\(property): \(String(describing: error))")
                continue
            }
            #expect(found.map(\.property) == [property])
        }
        #expect(!contexts[0].hasChanges)
    }

    @Test func `a hook checks values with the types of their properties, and may replace them (MO-37)`() throws {
        let context = try context()
        let (meter, part) = (Meter(context: context), Meter(context: context))
        (meter.level, meter.note, meter.kind, meter.next) = (500, "", .steam, meter)
        meter.parts = [meter, part]

        try context.save()

        #expect(meter.level == 100 && meter.kind == .water && meter.next == nil && meter.parts == [part])
        // The hook has made the note none, and then, called for none, another one.
        #expect(meter.note == "high")
        meter.level = -1
        let thrown = #expect(throws: ContextError.self) { try context.save() }
        let error = try #require(thrown)
        #expect(meter.violations(of: \.level, in: error).count == 1 && meter.level == -1)
    }

    @Test func `a hook whose key path leads to no property is reported, because it would never run`() throws {
        let context = try context([Gauge.self])
        Gauge(context: context).level = 5

        let error = #expect(throws: ContextError.self) { try context.save() }

        guard case .violations(let found)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.map(\.property) == ["\(\Gauge.half)"])
    }
}

enum MeterKind: String { case gas, water, steam }

@Entity final class Meter: ManagedObject {
    var name: String = ""
    var level: Int = 0
    var note: String?
    var kind: MeterKind?
    var next: Meter?
    var parts: [Meter]
    var half: Int { level / 2 }
    var twin: Meter? { next }
    var twins: [Meter] { parts }

    struct Negative: Error {}

    override class var validatedKeys: [String] { Meter.propertyNames(of: \.level, \.note, \.kind, \.next, \.parts) }
    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        try checkValue(&value, forKey: key, of: \.level) { level in
            if level < 0 { throw Negative() }
            level = min(level, 100)
        }
        try checkValue(&value, forKey: key, of: \.note) { note in
            if note == nil, level > 90 { note = "high" }
            if note == "" { note = nil }
        }
        try checkValue(&value, forKey: key, of: \.kind) { kind in if kind == .steam { kind = .water } }
        try checkValue(&value, forKey: key, of: \.next) { next in if next === self { next = nil } }
        try checkValue(&value, forKey: key, of: \.parts) { parts in parts.removeAll { $0 === self } }
    }
}

@Entity final class Gauge: ManagedObject {
    var level: Int = 0
    var half: Int { level / 2 }

    override class var validatedKeys: [String] { Gauge.propertyNames(of: \.level) }
    override func validate(_ value: inout PropertyValue, forKey key: String) throws {
        try checkValue(&value, forKey: key, of: \.half) { half in half = min(half, 50) }
    }
}
