// Places in an order beside unsaved deletions: they are those of the list that a reader gets, whatever has changed, and
// a loop that reads or changes them walks over the list once (MC-13, MC-18).

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct ShownPlacesTests {
    /// A context, and a stored order of skills whose owner is in memory only while it is read or has changes.
    private struct Scene {
        let stack: Stack
        let context: ManagedObjectContext
        let ownerID: ObjectID
        /// The skills of the order, deleted ones too.
        var skills: [Skill]
        private var nextNumber: Int

        init(_ kind: StoreKind, count: Int) throws {
            let stack = try Stack(kind, classes: teamClasses)
            let (writer, context) = (stack.context, stack.newContext())
            let written = (0..<count).map { number in
                let skill = Skill(context: writer)
                skill.number = number
                return skill
            }
            let owner = Member(context: writer)
            owner.ranking = OrderedToMany(written)
            try writer.save()
            skills = try written.map { try context[$0.ref] }
            (self.stack, self.context, ownerID, nextNumber) = (stack, context, owner.objectID, count)
        }

        func ranking() throws -> OrderedToMany<Skill> {
            try #require(try context.existingObject(with: ownerID) as? Member).ranking
        }

        func delete(_ skill: Skill) throws {
            try context.delete(skill)
            context.processPendingChanges()
        }

        mutating func append() throws {
            let skill = Skill(context: context)
            skill.number = nextNumber
            nextNumber += 1
            skills.append(skill)
            try ranking().append(skill)
        }

        /// The numbers in the list; expects each place to be that of the list.
        func numbers(_ comment: Comment = "") throws -> [Int] {
            let ranking = try ranking()
            let list = Array(ranking)
            #expect(ranking.count == list.count && ranking.isEmpty == list.isEmpty, comment)
            for (place, skill) in list.enumerated() {
                #expect(ranking.object(at: place) === skill && ranking.firstIndex(of: skill) == place, comment)
            }
            #expect(ranking.object(at: list.count) == nil && ranking.object(at: -1) == nil, comment)
            for skill in skills where skill.isDeleted { #expect(ranking.firstIndex(of: skill) == nil, comment) }
            return list.map(\.number)
        }

        /// Deletes a skill, moves one, appends one, saves, or rolls back.
        mutating func change(_ random: inout SeededGenerator) throws {
            switch Int.random(in: 0..<8, using: &random) {
            case 0...2:
                if let skill = skills.randomElement(using: &random) { try delete(skill) }
            case 3, 4:
                let ranking = try ranking()
                if ranking.count > 1 { ranking.move(from: ranking.count - 1, to: ranking.count / 2) }
            case 5: try append()
            case 6: try context.save()
            default: context.rollback()
            }
            skills.removeAll { $0.managedObjectContext == nil }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `places follow deletions, those that are taken back, and changes of the order`(_ kind: StoreKind) throws {
        var scene = try Scene(kind, count: 6)
        try scene.delete(scene.skills[1])
        #expect(try scene.numbers() == [0, 2, 3, 4, 5])
        // The owner is not in memory: nothing of it changes.
        try scene.delete(scene.skills[3])
        #expect(try scene.numbers() == [0, 2, 4, 5])
        scene.context.refresh(scene.skills[1], mergesChanges: false)
        #expect(try scene.numbers() == [0, 1, 2, 4, 5])
        try scene.append()
        #expect(try scene.numbers() == [0, 1, 2, 4, 5, 6])
        try scene.append()
        #expect(try scene.numbers() == [0, 1, 2, 4, 5, 6, 7])
        try scene.ranking().move(from: 0, to: 2)
        #expect(try scene.numbers() == [1, 2, 0, 4, 5, 6, 7])
        scene.context.rollback()
        #expect(try scene.numbers() == [0, 1, 2, 3, 4, 5])
    }

    @Test(arguments: StoreKind.allCases)
    func `the number of members follows a deletion that is undone`(_ kind: StoreKind) throws {
        let stack = try Stack(kind, classes: teamClasses)
        let written = (0..<4).map { _ in Skill(context: stack.context) }
        let owner = Member(context: stack.context)
        owner.skills = ToMany(written)
        try stack.context.save()
        let context = stack.newContext()
        context.undoManager = UndoStack()
        let skills = try written.map { try context[$0.ref] }
        for skill in skills.prefix(2) {
            try context.delete(skill)
            context.processPendingChanges()
        }
        let member = try context[owner.ref]
        #expect(member.skills.count == 2 && !member.skills.contains(skills[1]))

        try context.undo()

        #expect(member.skills.count == 3 && member.skills.contains(skills[1]) && !member.skills.isEmpty)
        try context.saveAndCompare()
    }

    @Test func `places are those of the list, whatever is deleted, moved, appended, saved and rolled back`() throws {
        let seed = testSeed(default: 180_300)
        print("ESPALIER_SEED=\(seed)")
        var random = SeededGenerator(seed: seed)
        for walk in 0..<10 {
            var scene = try Scene(.btree, count: 12)
            for step in 0..<40 {
                try scene.change(&random)
                let numbers = try scene.numbers("walk \(walk), step \(step), seed \(seed)")
                let expected = scene.skills.filter { !$0.isDeleted }.map(\.number)
                #expect(numbers.sorted() == expected.sorted(), "walk \(walk), step \(step), seed \(seed)")
            }
            try scene.context.saveAndCompare()
        }
    }

    @Test func `reading an order place by place beside an unsaved deletion costs as much for each place`() throws {
        var counts: [Int] = []
        for count in [400, 4000] {
            let scene = try Scene(.inMemory, count: count)
            try scene.delete(scene.skills[1])
            let ranking = try scene.ranking()
            let other = Skill(context: scene.context)
            let (steps, _) = StepCount.count {
                for place in 0..<ranking.count {
                    // The value of an attribute has no part in the places.
                    other.number = place
                    guard let skill = ranking.object(at: place) else {
                        Issue.record("\(place) is no place")
                        continue
                    }
                    #expect(ranking.firstIndex(of: skill) == place)
                }
            }
            counts.append(steps)
        }
        #expect(counts[0] > 0 && counts[1] < 12 * counts[0], "\(counts) steps for 400 and 4000 destinations")
    }

    // MARK: Changes by places

    @Test func `changing an order place by place beside an unsaved deletion costs as much for each change`() throws {
        var counts: [Int] = []
        for count in [600, 4800] {
            let scene = try Scene(.inMemory, count: count)
            try scene.delete(scene.skills[1])
            let ranking = try scene.ranking()
            let steps = StepCount.count {
                for place in 0..<count - 1 {
                    ranking.move(from: place, to: 0)
                    guard place % 4 == 0 else { continue }
                    let new = Skill(context: scene.context)
                    ranking.insert(new, at: place)
                    #expect(ranking.object(at: place) === new)
                    ranking.remove(at: place)
                }
            }.steps
            counts.append(steps)
            // Each move puts the next one before those that were moved.
            let expected: [Int] = (0..<count).filter { $0 != 1 }.reversed()
            #expect(ranking.map(\.number) == expected)
        }
        #expect(counts[0] > 0 && counts[1] < 12 * counts[0], "\(counts) steps for 600 and 4800 destinations")
    }

    @Test func `an order that had nothing to hide after a change hides what a cascade reaches later (MC-13, MC-14)`()
        throws
    {
        let model = try ManagedObjectModel(
            entities: [
                EntityDescription(
                    "Shelf", attributes: [AttributeDescription("name", .string)],
                    relationships: [.init("boxes", to: "Box", inverse: "shelf", .ordered)]),
                EntityDescription(
                    "Crate",
                    relationships: [.init("boxes", to: "Box", inverse: "crate", .toMany, deleteRule: .cascade)]),
                EntityDescription(
                    "Box", attributes: [AttributeDescription("name", .string)],
                    relationships: [
                        .init("shelf", to: "Shelf", inverse: "boxes"), .init("crate", to: "Crate", inverse: "boxes"),
                    ]),
            ], versionIdentifiers: [], classes: ["Shelf": Shelf.self, "Box": Box.self])
        let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(.inMemory)
        let writer = ManagedObjectContext(coordinator)
        let written = try ["Shelf", "Crate"].map { try writer.insertNewObject(forEntityName: $0) }
        let boxes = try (0..<4).map { number in
            let box = try writer.insertNewObject(forEntityName: "Box")
            try box.setValue(.string("\(number)"), forKey: "name")
            return box
        }
        try written[0].setValue(.toMany(boxes), forKey: "boxes")
        try boxes[2].setValue(.toOne(written[1]), forKey: "crate")
        try writer.save()
        let context = ManagedObjectContext(coordinator)
        try context.delete(context.existingObject(with: boxes[1].objectID))
        context.processPendingChanges()
        let shelf = try #require(try context.fetch(FetchRequest<Shelf>()).first)
        shelf.boxes.move(from: 2, to: 0)
        #expect(shelf.boxes.count == 3)

        try context.delete(context.existingObject(with: written[1].objectID))
        context.processPendingChanges()

        #expect(shelf.boxes.count == 2)
        shelf.boxes.move(from: 1, to: 0)
        #expect(shelf.boxes.map(\.name) == ["0", "3"])
        try context.saveAndCompare()
        let reader = ManagedObjectContext(coordinator)
        #expect(try reader.fetch(FetchRequest<Shelf>()).first?.boxes.map(\.name) == ["0", "3"])
    }
}

private final class Shelf: ManagedObject {
    override class var entityName: String { "Shelf" }
    var boxes: OrderedToMany<Box> { _get("boxes", at: 1) }
}

private final class Box: ManagedObject {
    override class var entityName: String { "Box" }
    var name: String { _get("name", at: 0) }
}
