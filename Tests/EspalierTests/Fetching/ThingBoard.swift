// A store of things in boxes, with plain copies of them, under one of two models that have the same names and differ in
// slots, types and indexes: so one request can be asked of both.
//
// Invariants
//   1. Values of text are ASCII, so that their order is that of Swift's strings.

import Espalier
import EspalierModel
import EspalierStore
import Foundation
import TestSupport

/// A thing as a plain value.
struct PlainThing {
    var id: ObjectID?
    var text: String?
    var number: Int
    var isSet: Bool
    var box: Int?
    var isTool: Bool

    init(_ random: inout SeededGenerator) {
        let texts = ["a", "ab", "abc", "b", "ba", "bab", "c", ""]
        text = Int.random(in: 0..<10, using: &random) == 0 ? nil : texts.randomElement(using: &random)
        number = Int.random(in: 0..<12, using: &random)
        isSet = Bool.random(using: &random)
        box = Int.random(in: 0..<3, using: &random) == 0 ? nil : Int.random(in: 0..<ThingBoard.boxCount, using: &random)
        isTool = Int.random(in: 0..<4, using: &random) == 0
    }

    /// The value by which a sort key called `name` sorts.
    func value(_ name: String) -> AttributeValue {
        name == "number" ? .integer(Int64(number)) : text.map(AttributeValue.string) ?? .null
    }
}

final class ThingBoard {
    static let boxCount = 5

    private static func entities(_ variant: Int) -> [EntityDescription] {
        let boxes = [RelationshipDescription("box", to: "Box", inverse: "things")]
        let thing =
            variant == 0
            ? EntityDescription(
                "Thing",
                attributes: [
                    AttributeDescription("text", .string, isIndexed: true),
                    AttributeDescription("number", .integer64, isIndexed: true), AttributeDescription("flag", .boolean),
                ], relationships: boxes)
            : EntityDescription(
                "Thing",
                attributes: [
                    AttributeDescription("flag", .boolean), AttributeDescription("number", .double),
                    AttributeDescription("text", .string),
                ], relationships: boxes, indexes: [.init("byNumberAndText", on: [.init("number"), .init("text")])])
        return [
            thing, EntityDescription("Tool", superentity: "Thing"),
            EntityDescription(
                "Box", attributes: [AttributeDescription("name", .string, isIndexed: true)],
                relationships: [RelationshipDescription("things", to: "Thing", inverse: "box", .toMany)]),
        ]
    }

    let coordinator: PersistentStoreCoordinator
    let store: BTreeStore
    private(set) var boxes: [ObjectID] = []
    /// The stored things, by ascending primary key.
    private(set) var things: [PlainThing] = []
    private let variant: Int
    private let folder: URL

    init(_ variant: Int) throws {
        self.variant = variant
        folder = FileManager.default.temporaryDirectory.appending(path: "espalier-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let model = try ManagedObjectModel(entities: Self.entities(variant))
        store = try BTreeStore.open(path: folder.appending(path: "store").path, model: model)
        coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        coordinator.add(store)
        let context = newContext()
        let made = try (0..<Self.boxCount).map { number in
            let box = try context.insertNewObject(forEntityName: "Box")
            try box.setValue(.string("box \(number)"), forKey: "name")
            return box
        }
        try context.save()
        boxes = made.map(\.objectID)
    }

    deinit {
        try? store.close()
        try? FileManager.default.removeItem(at: folder)
    }

    func newContext() -> ManagedObjectContext { ManagedObjectContext(coordinator) }

    /// A context that no other one has prepared anything for: it has a coordinator of its own.
    func strangeContext() -> ManagedObjectContext {
        let stranger = PersistentStoreCoordinator(managedObjectModel: store.model)
        stranger.add(store)
        return ManagedObjectContext(stranger)
    }

    /// Inserts an object with the values of a thing; the caller saves it.
    func insert(_ thing: PlainThing, _ context: ManagedObjectContext) throws -> ManagedObject {
        let object = try context.insertNewObject(forEntityName: thing.isTool ? "Tool" : "Thing")
        try put(thing, into: object, context)
        return object
    }

    private func put(_ thing: PlainThing, into object: ManagedObject, _ context: ManagedObjectContext) throws {
        let number: AttributeValue = variant == 0 ? .integer(Int64(thing.number)) : .double(Double(thing.number))
        try object.setValue(thing.value("text"), forKey: "text")
        try object.setValue(number, forKey: "number")
        try object.setValue(.boolean(thing.isSet), forKey: "flag")
        let box = try thing.box.map { try context.object(with: boxes[$0]) }
        try object.setValue(.toOne(box), forKey: "box")
    }

    /// Saves new things.
    func grow(by count: Int, _ random: inout SeededGenerator) throws {
        let context = newContext()
        var made: [(object: ManagedObject, thing: PlainThing)] = []
        for _ in 0..<count {
            let thing = PlainThing(&random)
            let object = try insert(thing, context)
            made.append((object, thing))
        }
        try context.save()
        for (object, thing) in made {
            var stored = thing
            stored.id = object.objectID
            things.append(stored)
        }
        try order()
    }

    /// Changes and deletes some things.
    func change(_ random: inout SeededGenerator) throws {
        let context = newContext()
        for place in things.indices.shuffled(using: &random).prefix(3).sorted(by: >) {
            guard let id = things[place].id else { continue }
            let object = try context.object(with: id)
            if Int.random(in: 0..<3, using: &random) == 0 {
                try context.delete(object)
                things.remove(at: place)
            } else {
                var other = PlainThing(&random)
                (other.id, other.isTool) = (id, things[place].isTool)
                try put(other, into: object, context)
                things[place] = other
            }
        }
        try context.save()
    }

    /// Puts the things into the order of their keys.
    private func order() throws {
        guard let entity = store.model.entity(named: "Thing") else { return }
        let ids = try store.fetchIDs(StoreFetch(entity: entity))
        let places = Dictionary(uniqueKeysWithValues: ids.enumerated().map { ($1, $0) })
        things.sort { (places[$0.id ?? boxes[0]] ?? 0) < (places[$1.id ?? boxes[0]] ?? 0) }
    }
}
