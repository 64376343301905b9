// Values below the accessors: primitive ones, committed ones, changed ones, those of one event.

import Espalier
import EspalierModel
import Testing

@Suite struct ValueTests {
    private func number(_ sensor: Sensor) throws -> AttributeValue? {
        guard case .attribute(let value)? = try sensor.primitiveValue(forKey: "level") else { return nil }
        return value
    }

    // MARK: Faults

    @Test func `an object tells whether it is a fault, awakes, or becomes a fault (MO-12)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        var states: [String] = []
        sensor.onHook = { hook, sensor in states.append("\(hook) \(sensor.faultingState)") }

        #expect(sensor.faultingState == .fulfilled)
        stack.context.refresh(sensor, mergesChanges: false)
        #expect(sensor.faultingState == .fault && stack.context.faultTrips == 0)
        #expect(sensor.name == "first" && sensor.faultingState == .fulfilled)
        sensor.name = "x"
        stack.context.rollback()

        #expect(
            states == [
                "willTurnIntoFault turningIntoFault", "didTurnIntoFault turningIntoFault", "awakeFromFetch awakening",
                "awake awakening",
            ])
        #expect(Sensor(entity: sensor.entity, insertInto: nil).faultingState == .fulfilled)
    }

    @Test func `transient values are gone when didTurnIntoFault is called (MO-33)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        sensor.shown = "seen"
        var seen: [PropertyValue?] = []
        sensor.onHook = { _, sensor in seen.append(try? sensor.primitiveValue(forKey: "shown")) }

        stack.context.refresh(sensor, mergesChanges: false)

        #expect(seen == [.attribute(.string("seen")), nil] && sensor.isFault)
    }

    // MARK: Primitive values

    @Test(arguments: StoreKind.allCases)
    func `a primitive value is what is in memory, and fires no fault (MO-21, MO-22)`(_ kind: StoreKind) throws {
        let (stack, sensor) = try Stack.ofSensor(kind)
        for context in [stack.newContext(), ManagedObjectContext(parent: stack.context)] {
            let fault = try context.object(with: sensor.ref)

            #expect(try number(fault) == nil && fault.primitiveValue(forKey: "site") == nil)
            #expect(try fault.primitiveValue(forKey: "tags") == nil && fault.isFault && context.faultTrips == 0)
            fault.willAccessValue(forKey: nil)
            #expect(try number(fault) == .integer(0) && !fault.isFault && context.faultTrips == 1)
            #expect(try fault.primitiveValue(forKey: "site") == .toOne(nil))
            #expect(try fault.primitiveValue(forKey: "tags") == nil && fault.tags.count == 2)
            #expect(try fault.primitiveValue(forKey: "tags") != nil)
        }
        let outside = Sensor(entity: sensor.entity, insertInto: nil)
        #expect(try number(outside) == .integer(0))
    }

    @Test(arguments: StoreKind.allCases)
    func `a primitive write marks nothing, and is saved with the next change (MO-21)`(_ kind: StoreKind) throws {
        let (stack, sensor) = try Stack.ofSensor(kind)
        stack.context.undoManager = UndoStack()
        var told = 0
        let token = stack.context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { _ in told += 1 }

        try sensor.setPrimitiveValue(.attribute(.integer(5)), forKey: "level")
        stack.context.processPendingChanges()

        #expect(sensor.level == 5 && !sensor.hasChanges && !stack.context.hasChanges && told == 0)
        #expect(sensor.changedValues().isEmpty && !sensor.hasPersistentChangedValues)
        #expect(stack.context.undoManager?.canUndo == false)
        try stack.context.save()
        #expect(try stack.stored(Sensor.self).map(\.level) == [0])
        sensor.name = "other"
        #expect(sensor.changedValues() == ["name": .attribute(.string("other")), "level": .attribute(.integer(5))])
        try stack.context.save()
        #expect(try stack.stored(Sensor.self).map(\.level) == [5] && told == 1)

        try sensor.setPrimitiveValue(.attribute(.integer(6)), forKey: "level")
        stack.context.refresh(sensor, mergesChanges: false)
        #expect(sensor.level == 5)
        withExtendedLifetime(token) {}
    }

    @Test func `a primitive write of a changed object is seen by fetches and by a child (MO-21)`() throws {
        let (stack, _) = try Stack.ofSensor(.inMemory)
        for _ in 0..<PendingCount.many { Sensor(context: stack.context).level = 1 }
        let sensor = Sensor(context: stack.context)
        let request = Sensor.fetchRequest(try FetchPredicate(format: "level == 7"))
        let child = ManagedObjectContext(parent: stack.context)
        #expect(try stack.context.count(for: request) == 0 && child.count(for: request) == 0)

        try sensor.setPrimitiveValue(.attribute(.integer(7)), forKey: "level")

        #expect(try stack.context.count(for: request) == 1 && child.count(for: request) == 1)
    }

    private enum PendingCount {
        /// More unsaved objects than a fetch tests one by one.
        static let many = 40
    }

    @Test func `a primitive write in willSave is saved, and calls it no second time (MO-21, MO-31)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        var calls = 0
        sensor.onHook = { hook, sensor in
            guard hook == "willSave" else { return }
            calls += 1
            try? sensor.setPrimitiveValue(.attribute(.integer(Int64(calls))), forKey: "level")
        }
        sensor.name = "changed"

        try stack.context.save()

        #expect(calls == 1)
        #expect(try stack.stored(Sensor.self).map(\.level) == [1])
    }

    @Test(arguments: StoreKind.allCases)
    func `a relationship has no primitive form: both ends are set and changed (MO-21)`(_ kind: StoreKind) throws {
        let (stack, sensor) = try Stack.ofSensor(kind)
        let tag = Tag(context: stack.context)
        tag.name = "c"

        try sensor.setPrimitiveValue(.toMany([tag]), forKey: "tags")

        #expect(sensor.hasChanges && tag.sensors == [sensor] && sensor.tags == [tag])
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Sensor.self).first?.tags.map(\.name) == ["c"])
    }

    @Test func `an accessor of one's own is tracked, undone, and told to observers (MO-22, MO-23)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        stack.context.refresh(sensor, mergesChanges: false)
        stack.context.undoManager = UndoStack()
        var told: [Set<ManagedObject>] = []
        let token = stack.context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) {
            told.append($0.updated)
        }

        #expect(sensor.isFault && sensor.level == 0 && !sensor.hasChanges)
        sensor.level = 8
        #expect(sensor.isUpdated && sensor.changedValues() == ["level": .attribute(.integer(8))])
        stack.context.processPendingChanges()
        #expect(told == [[sensor]])
        try stack.context.undo()
        #expect(sensor.level == 0)
        try stack.context.redo()
        try stack.context.save()
        #expect(try stack.stored(Sensor.self).map(\.level) == [8])
        sensor.willChangeValue(forKey: "unmodelled")
        sensor.didChangeValue(forKey: "unmodelled")
        #expect(!sensor.hasChanges)
        withExtendedLifetime(token) {}
    }

    @Test func `primitive access that does not fit is refused, and a refused announcement is reported (MO-21, MO-23)`()
        throws
    {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        #expect(violations { _ = try sensor.primitiveValue(forKey: "height") }.count == 1)
        #expect(violations { try sensor.setPrimitiveValue(.attribute(.integer(1)), forKey: "height") }.count == 1)
        #expect(violations { try sensor.setPrimitiveValue(.attribute(.string("x")), forKey: "level") }.count == 1)
        #expect(violations { try sensor.setPrimitiveValue(.toOne(nil), forKey: "level") }.count == 1)
        try stack.context.delete(sensor)
        #expect(violations { try sensor.setPrimitiveValue(.attribute(.integer(1)), forKey: "level") }.count == 1)
        #expect(stack.context.recordedViolations.isEmpty && sensor.level == 0)

        sensor.level = 4

        let reported = violations { try stack.context.save() }
        #expect(reported.count == 1 && reported.first?.property == "level" && sensor.level == 0)
    }

    // MARK: Committed and changed values

    @Test(arguments: StoreKind.allCases)
    func `committed values have what was read or saved, for chosen properties to-many ones, too (MO-34)`(
        _ kind: StoreKind
    ) throws {
        let (stack, sensor) = try Stack.ofSensor(kind)
        let tags = sensor.tags.map(\.objectID).sorted(by: { $0.uriRepresentation < $1.uriRepresentation })
        sensor.name = "other"
        sensor.tags = []

        #expect(
            sensor.committedValues() == [
                "name": .attribute(.string("first")), "level": .attribute(.integer(0)), "site": .toOne(nil),
            ])
        let chosen = try sensor.committedValues(forKeys: ["tags", "name", "shown"])
        #expect(chosen == ["name": .attribute(.string("first")), "tags": .toMany(tags)])
        let unknown = violations { _ = try sensor.committedValues(forKeys: ["a", "name", "b"]) }
        #expect(unknown.map(\.property) == ["a", "b"])
        #expect(try Sensor(context: stack.context).committedValues(forKeys: ["tags"]).isEmpty)

        let child = ManagedObjectContext(parent: stack.context)
        let twin = try child[sensor.ref]
        twin.name = "third"
        #expect(try twin.committedValues(forKeys: ["name"]) == ["name": .attribute(.string("other"))])
        #expect(try twin.committedValues(forKeys: ["tags"]) == ["tags": .toMany([])])
    }

    @Test(arguments: StoreKind.allCases)
    func `changed values have to-many destinations, and load no others (MO-35)`(_ kind: StoreKind) throws {
        let (stack, original) = try Stack.ofSensor(kind)
        let context = stack.newContext()
        let sensor = try context[original.ref]
        let tag = Tag(context: context)
        sensor.name = "other"
        let trips = context.faultTrips
        #expect(sensor.changedValues() == ["name": .attribute(.string("other"))] && context.faultTrips == trips)

        sensor.tags.insert(tag)
        let ids = try sensor.objectIDs(forRelationshipNamed: "tags")
        #expect(ids.count == 3 && sensor.changedValues()["tags"] == .toMany(ids))
        #expect(try sensor.changedValues(forKeys: ["tags", "level"]) == ["tags": .toMany(ids)])
        #expect(tag.changedValues()["sensors"] == .toMany([sensor.objectID]))
        sensor.tags.remove(tag)
        #expect(sensor.changedValues() == ["name": .attribute(.string("other"))])
        #expect(violations { _ = try sensor.changedValues(forKeys: ["height"]) }.count == 1)
    }

    // MARK: Events

    @Test(arguments: [false, true])
    func `the changed values of an event are those since the last one (MO-36)`(isChild: Bool) throws {
        let (stack, original) = try Stack.ofSensor(.inMemory)
        let context = isChild ? ManagedObjectContext(parent: stack.context) : stack.context
        let sensor = try context[original.ref]
        guard case .eventIsNotRecorded? = contextError({ _ = try sensor.changedValuesForCurrentEvent() }) else {
            return #expect(Bool(false), "a context records events without being asked")
        }
        context.recordsChangesOfEvent = true
        var told: [[String: PropertySnapshot]] = []
        let token = context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { message in
            for case let sensor as Sensor in message.updated {
                told.append((try? sensor.changedValuesForCurrentEvent()) ?? [:])
            }
        }

        sensor.name = "a"
        sensor.level = 3
        sensor.level = 0
        #expect(try sensor.changedValuesForCurrentEvent() == ["name": .attribute(.string("a"))])
        context.processPendingChanges()
        #expect(told == [["name": .attribute(.string("a"))]])
        #expect(try sensor.changedValuesForCurrentEvent().isEmpty && !sensor.changedValues().isEmpty)

        sensor.tags = []
        #expect(try sensor.changedValuesForCurrentEvent() == ["tags": .toMany([])])
        try context.save()
        #expect(told.last == ["tags": .toMany([])])
        #expect(try sensor.changedValuesForCurrentEvent().isEmpty)
        context.recordsChangesOfEvent = false
        #expect(!context.recordsChangesOfEvent)
        withExtendedLifetime(token) {}
    }

    @Test func `what an observer of an event changes is part of the next one (MO-36)`() throws {
        let (stack, sensor) = try Stack.ofSensor(.inMemory)
        stack.context.recordsChangesOfEvent = true
        var seen: [[String: PropertySnapshot]] = []
        let token = stack.context.addObserver(for: ManagedObjectContext.ObjectsDidChangeMessage.self) { _ in
            seen.append((try? sensor.changedValuesForCurrentEvent()) ?? [:])
            if seen.count == 1 { sensor.level = 9 }
        }

        sensor.name = "a"
        for _ in 0..<3 { stack.context.processPendingChanges() }

        #expect(seen == [["name": .attribute(.string("a"))], ["level": .attribute(.integer(9))]])
        withExtendedLifetime(token) {}
    }

    @Test func `what awakeFromInsert sets is what an undo of later changes restores (MO-27)`() throws {
        let stack = try Stack(.inMemory, classes: sensorClasses)
        stack.context.undoManager = UndoStack()
        let sensor = Sensor(context: stack.context)
        stack.context.processPendingChanges()
        #expect(sensor.name == "baseline")
        sensor.name = "x"
        stack.context.processPendingChanges()

        try stack.context.undo()

        #expect(sensor.name == "baseline" && sensor.isInserted)
        try stack.context.undo()
        #expect(sensor.managedObjectContext == nil)
        try stack.context.redo()
        #expect(sensor.name == "baseline" && sensor.isInserted)
    }
}
