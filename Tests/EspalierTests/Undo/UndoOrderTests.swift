// Undoing in ordered relationships and under each delete rule, before and after saves, and its cost (MC-56).

import Espalier
import EspalierModel
import Foundation
import Testing

@Suite struct UndoOrderTests {
    /// A context that can undo, with a shelf of ordered boxes "0", "1" and so on.
    private struct Scene {
        let context: ManagedObjectContext
        let undoManager = UndoStack()
        let coordinator: PersistentStoreCoordinator

        init(_ rule: DeleteRule = .nullify, boxes: Int = 6) throws {
            let model = try ManagedObjectModel(
                entities: [
                    EntityDescription(
                        "Shelf", attributes: [AttributeDescription("name", .string)],
                        relationships: [.init("boxes", to: "Box", inverse: "shelf", .ordered)]),
                    EntityDescription(
                        "Box", attributes: [AttributeDescription("name", .string)],
                        relationships: [
                            .init("shelf", to: "Shelf", inverse: "boxes", .toOne, deleteRule: rule),
                            .init("seen", to: "Shelf", .ordered),
                        ]),
                ], versionIdentifiers: [], classes: ["Shelf": Shelf.self, "Box": Box.self])
            coordinator = PersistentStoreCoordinator(managedObjectModel: model)
            try coordinator.addPersistentStore(.inMemory)
            let maker = ManagedObjectContext(coordinator)
            let shelf = try maker.insertNewObject(forEntityName: "Shelf")
            let new = try (0..<boxes).map { number in
                let box = try maker.insertNewObject(forEntityName: "Box")
                try box.setValue(.string("\(number)"), forKey: "name")
                return box
            }
            try shelf.setValue(.toMany(new), forKey: "boxes")
            try maker.save()
            context = ManagedObjectContext(coordinator)
            context.undoManager = undoManager
        }

        func shelf() throws -> Shelf { try #require(try context.fetch(FetchRequest<Shelf>()).first) }

        /// The names of the stored boxes in order, as a fresh context reads them.
        func stored() throws -> String {
            let reader = ManagedObjectContext(coordinator)
            return try #require(try reader.fetch(FetchRequest<Shelf>()).first).text
        }
    }

    @Test(arguments: [DeleteRule.nullify, .noAction, .deny], [false, true])
    func `an object comes back to where it stood, whatever rule it was deleted by`(
        _ rule: DeleteRule, _ isSaved: Bool
    ) throws {
        let scene = try Scene(rule)
        let shelf = try scene.shelf()
        let boxes = Array(shelf.boxes)
        for box in [boxes[2], boxes[3]] { try scene.context.delete(box) }
        scene.context.processPendingChanges()
        shelf.boxes.move(from: try #require(shelf.boxes.firstIndex(of: boxes[4])), to: 0)
        scene.context.processPendingChanges()
        // Every rule allows a box to be deleted together with its shelf.
        if rule != .nullify { try scene.context.delete(shelf) }
        if isSaved { try scene.context.saveAndCompare() } else { scene.context.processPendingChanges() }

        while scene.undoManager.canUndo { try scene.context.undo() }

        #expect(shelf.text == "012345")
        try scene.context.saveAndCompare()
        #expect(try scene.stored() == "012345")

        while scene.undoManager.canRedo { try scene.context.redo() }
        #expect(shelf.isDeleted == (rule != .nullify) && boxes[2].isDeleted)
    }

    @Test func `a member that was replaced comes back to its place, and the other one leaves it (MC-56)`() throws {
        let scene = try Scene()
        let shelf = try scene.shelf()
        let boxes = Array(shelf.boxes)
        shelf.boxes.remove(boxes[5])
        scene.context.processPendingChanges()

        shelf.boxes.replaceObject(at: 1, with: boxes[5])
        scene.context.processPendingChanges()

        #expect(shelf.text == "05234")
        try scene.context.undo()
        #expect(shelf.text == "01234")
        try scene.context.redo()
        #expect(shelf.text == "05234")
        for _ in 0..<2 { try scene.context.undo() }
        #expect(shelf.text == "012345")
        try scene.context.saveAndCompare()
    }

    @Test func `objects come back to their places although delete rules run only in the save (MC-12, MC-56)`() throws {
        let scene = try Scene(.nullify)
        scene.context.propagatesDeletesAtEndOfEvent = false
        let shelf = try scene.shelf()
        let boxes = Array(shelf.boxes)
        for number in [2, 3] {
            try scene.context.delete(boxes[number])
            scene.context.processPendingChanges()
        }
        try scene.context.saveAndCompare()
        #expect(shelf.text == "0145" && scene.undoManager.undoCount == 3)

        while scene.undoManager.canUndo { try scene.context.undo() }

        #expect(shelf.text == "012345")
        try scene.context.saveAndCompare()
        #expect(try scene.stored() == "012345")
    }

    @Test func `objects stay in their order when a deletion among them is saved and a move is undone`() throws {
        let scene = try Scene(.nullify)
        let shelf = try scene.shelf()
        let boxes = Array(shelf.boxes)
        // No rule reaches across a relationship without inverse.
        let owner = boxes[5]
        try owner.setValue(.toMany([shelf]), forKey: "seen")
        shelf.boxes.move(from: 1, to: 4)
        scene.context.processPendingChanges()
        try scene.context.delete(boxes[0])
        try scene.context.save()
        shelf.boxes.remove(at: 0)
        try scene.context.save()
        #expect(shelf.text == "3415")

        for text in ["23415", "023415", "012345"] {
            try scene.context.undo()
            #expect(shelf.text == text)
        }
        for text in ["023415", "23415", "3415"] {
            try scene.context.redo()
            #expect(shelf.text == text)
        }
        try scene.context.saveAndCompare()
        #expect(try scene.stored() == "3415")
    }

    @Test func `an unsaved object comes back to where relationships without inverse had it`() throws {
        let scene = try Scene()
        let boxes = Array(try scene.shelf().boxes)
        let shelves = try (0..<4).map { number in
            let shelf = try scene.context.insertNewObject(forEntityName: "Shelf")
            try shelf.setValue(.string("\(number)"), forKey: "name")
            return shelf
        }
        try boxes[0].setValue(.toMany(shelves), forKey: "seen")
        scene.context.processPendingChanges()
        for number in [1, 2] { try scene.context.delete(shelves[number]) }
        scene.context.processPendingChanges()
        #expect(try boxes[0].objectIDs(forRelationshipNamed: "seen").count == 2)

        try scene.context.undo()

        #expect(try boxes[0].objectIDs(forRelationshipNamed: "seen") == shelves.map { $0.objectID })
        try scene.context.saveAndCompare()
    }

    // MARK: Cost

    /// The ratio of the steps for 8,000 boxes to those for 500.
    private func growth(_ measure: (Int) throws -> Int) throws -> Double {
        let (few, many) = (try measure(500), try measure(8000))
        #expect(few > 0)
        return Double(many) / Double(max(few, 1))
    }

    @Test func `undoing one change in a long order costs as much as in a short one`() throws {
        let growth = try growth { count in
            let scene = try Scene(boxes: count)
            let shelf = try scene.shelf()
            let box = try #require(try scene.context.insertNewObject(forEntityName: "Box") as? Box)
            // The first change of an order reads all of it, and a fault that fires visits those beside it; both happen
            // before the count.
            let boxes = try scene.context.fetch(FetchRequest<Box>())
            for box in boxes where !box.isInserted { #expect(!box.name.isEmpty) }
            shelf.boxes.append(box)
            scene.context.processPendingChanges()
            defer { withExtendedLifetime(boxes) {} }
            return try StepCount.count {
                for index in 0..<20 {
                    let box = try #require(try scene.context.insertNewObject(forEntityName: "Box") as? Box)
                    shelf.boxes.insert(box, at: count / 2 + index)
                    scene.context.processPendingChanges()
                    shelf.boxes.move(from: 1, to: count / 2)
                    scene.context.processPendingChanges()
                    shelf.boxes.remove(at: 3)
                    scene.context.processPendingChanges()
                }
                for _ in 0..<60 { try scene.context.undo() }
                for _ in 0..<60 { try scene.context.redo() }
            }.steps
        }
        #expect(growth < 1.2, "\(growth) times as many steps")
    }

    @Test(arguments: [DeleteRule.noAction, .deny], [false, true])
    func `deleting one by one from the front of an order costs as much for each, in one event and in many`(
        _ rule: DeleteRule, _ endsEvents: Bool
    ) throws {
        let growth = try growth { count in
            let scene = try Scene(rule, boxes: count)
            let boxes = Array(try scene.shelf().boxes)
            for box in boxes { #expect(!box.name.isEmpty) }
            return try StepCount.count {
                for box in boxes {
                    try scene.context.delete(box)
                    if endsEvents { scene.context.processPendingChanges() }
                }
            }.steps
        }
        // 16 times as many boxes.
        #expect(growth < 24, "\(growth) times as many steps")
    }

    @Test(arguments: [DeleteRule.noAction, .deny])
    func `deleting one by one from an order costs as much for each, whatever else changes in between`(
        _ rule: DeleteRule
    ) throws {
        let growth = try growth { count in
            let scene = try Scene(rule, boxes: count)
            let shelf = try scene.shelf()
            let boxes = Array(shelf.boxes)
            for box in boxes { #expect(!box.name.isEmpty) }
            return try StepCount.count {
                for (number, box) in boxes.prefix(count / 2).enumerated() {
                    shelf.name = "\(number)"
                    if number % 10 == 0 { shelf.boxes.remove(at: shelf.boxes.count - 1) }
                    try scene.context.delete(box)
                }
            }.steps
        }
        // 16 times as many boxes.
        #expect(growth < 24, "\(growth) times as many steps")
    }

    @Test func `delete rules remove one by one from an order at the same cost for each, also the last one first`()
        throws
    {
        let growth = try growth { count in
            let scene = try Scene(boxes: count)
            let shelf = try scene.shelf()
            let boxes = Array(shelf.boxes)
            for box in boxes { #expect(!box.name.isEmpty) }
            return try StepCount.count {
                for box in boxes.reversed() { try scene.context.delete(box) }
                scene.context.processPendingChanges()
                #expect(shelf.boxes.isEmpty)
            }.steps
        }
        // 16 times as many boxes.
        #expect(growth < 24, "\(growth) times as many steps")
    }

    @Test func `what was deleted in one event comes back to its places, although what stood before it was moved`()
        throws
    {
        let scene = try Scene(.noAction)
        let shelf = try scene.shelf()
        let boxes = Array(shelf.boxes)
        try scene.context.delete(boxes[2])
        shelf.boxes.move(from: 1, to: 5)
        try scene.context.delete(boxes[3])
        try scene.context.save()
        #expect(shelf.text == "0451" && scene.undoManager.undoCount == 1)

        try scene.context.undo()

        #expect(shelf.text == "012345")
        try scene.context.saveAndCompare()
        #expect(try scene.stored() == "012345")
    }

    @Test func `what was removed comes back to its place after a list without deleted objects was assigned (MC-13)`()
        throws
    {
        let scene = try Scene(boxes: 8)
        let boxes = try scene.context.fetch(FetchRequest<Box>()).sorted { $0.name < $1.name }
        // No step says what is deleted, and the shelf, which is not in memory, keeps it until the save.
        scene.context.undoManager = nil
        for box in boxes[2...3] { try scene.context.delete(box) }
        scene.context.processPendingChanges()
        scene.context.undoManager = scene.undoManager
        let shelf = try scene.shelf()
        #expect(shelf.text == "014567")
        try boxes[4].setValue(.toOne(nil), forKey: "shelf")
        let shown = Array(shelf.boxes)
        try shelf.setValue(.toMany(shown), forKey: "boxes")
        try boxes[7].setValue(.toOne(nil), forKey: "shelf")
        scene.context.processPendingChanges()
        #expect(shelf.text == "0156" && scene.undoManager.undoCount == 1)

        try scene.context.undo()

        #expect(shelf.text == "014567")
        try scene.context.saveAndCompare()
        #expect(try scene.stored() == "014567")
    }

    @Test func `what was deleted comes back after what had been moved before it without a step`() throws {
        let scene = try Scene(.noAction)
        let shelf = try scene.shelf()
        let boxes = Array(shelf.boxes)
        try scene.context.delete(boxes[0])
        scene.undoManager.disableUndoRegistration()
        shelf.boxes.move(from: 5, to: 0)
        try scene.undoManager.enableUndoRegistration()
        try scene.context.delete(boxes[1])
        try scene.context.save()
        #expect(shelf.text == "5234")

        while scene.undoManager.canUndo { try scene.context.undo() }

        #expect(shelf.text == "051234")
    }

    @Test func `the next deleted object comes back after its own neighbor, although the order has changed`() throws {
        let scene = try Scene(.noAction)
        let shelf = try scene.shelf()
        let boxes = Array(shelf.boxes)
        try scene.context.delete(boxes[2])
        scene.undoManager.disableUndoRegistration()
        // The deleted box keeps its index, and has another box before it.
        shelf.boxes.move(from: 1, to: 0)
        try scene.undoManager.enableUndoRegistration()
        try scene.context.delete(boxes[3])
        try scene.context.save()
        #expect(shelf.text == "1045")

        while scene.undoManager.canUndo { try scene.context.undo() }

        #expect(shelf.text == "120345")
    }

    @Test func `undoing one event costs as much beside many unsaved changes as beside few`() throws {
        let growth = try growth { count in
            let scene = try Scene(boxes: count)
            let boxes = try scene.context.fetch(FetchRequest<Box>())
            for box in boxes { box.name = "new" }
            scene.context.processPendingChanges()
            return try StepCount.count {
                for box in boxes.prefix(20) {
                    box.name = "newer"
                    scene.context.processPendingChanges()
                }
                for _ in 0..<20 { try scene.context.undo() }
                for _ in 0..<20 { try scene.context.redo() }
            }.steps
        }
        #expect(growth < 1.2, "\(growth) times as many steps")
    }
}

private final class Shelf: ManagedObject {
    override class var entityName: String { "Shelf" }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
    var boxes: OrderedToMany<Box> { _get("boxes", at: 1) }
    /// The names of its boxes, in order.
    var text: String { boxes.filter { !$0.isDeleted }.map { $0.name }.joined() }
}

private final class Box: ManagedObject {
    override class var entityName: String { "Box" }
    var name: String {
        get { _get("name", at: 0) }
        set { _set("name", at: 0, newValue) }
    }
}
