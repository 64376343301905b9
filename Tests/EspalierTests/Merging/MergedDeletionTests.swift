// Deletions beside what other contexts save, as walks have found them: what delete rules reach after a merge, what a
// deleted object was changed to lead to, rows that come again, and objects that a save draws into its changes.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct MergedDeletionTests {
    private static let places: [BeadBoard.Place] = [.plain, .memory]

    // MARK: What a save draws in

    @Test(arguments: places)
    func `what is related to a row that is inserted again keeps what somebody else has saved of it`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 2)
        try sides.store { try sides.change(1, .list, [0], in: $0) }
        sides.mine.mergePolicy = .overwrite
        try sides.change(0, .a, [1], in: sides.mine)
        #expect(try sides.shown(1, .list) == [0] && sides.shown(0, .listed) == [1])
        try sides.store { context in
            try sides.change(1, .b, [3], in: context)
            try context.delete(sides.board.bead(0, in: context))
        }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[1]?[.b] == [3] && stored[1]?[.list] == [0] && stored[0]?[.a] == [1])
    }

    @Test(arguments: places)
    func `rules that run again change nothing else of what they reach`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 2)
        sides.mine.mergePolicy = .overwrite
        try sides.delete(0)
        try sides.store { context in
            try sides.change(1, .list, [0], in: context)
            try sides.change(1, .b, [3], in: context)
            try sides.change(0, .a, [1], in: context)
        }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[0] == nil && stored[1]?[.b] == [3] && stored[1]?[.list] == [])
    }

    @Test(arguments: places)
    func `rules that run again after a save that failed change nothing else of what they reach`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 3)
        sides.mine.mergePolicy = .overwrite
        let (deleted, invalid) = (try sides.board.bead(0, in: sides.mine), try sides.board.bead(2, in: sides.mine))
        try sides.delete(0)
        try invalid.setValue(.null, forKey: "name")
        try sides.store { context in
            try sides.change(1, .list, [0], in: context)
            try sides.change(1, .b, [3], in: context)
            try sides.change(0, .a, [1], in: context)
        }
        sides.mine.refresh(deleted, mergesChanges: true)
        #expect(throws: ContextError.self) { try sides.mine.save() }
        try invalid.setValue(.string("bead"), forKey: "name")

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[0] == nil && stored[1]?[.b] == [3] && stored[1]?[.list] == [])
    }

    @Test(arguments: places)
    func `a set of an object that is gone is given up, and nothing of what it led to`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 3)
        sides.mine.mergePolicy = .rollback
        try sides.change(0, .marks, [1, 2], in: sides.mine)
        try sides.change(1, .b, [2], in: sides.mine)
        try sides.store { try $0.delete(sides.board.bead(0, in: $0)) }

        try sides.mine.save()

        #expect(try sides.board.stored()[1]?[.b] == [2])
        #expect(try sides.board.stored()[0] == nil)
    }

    @Test(arguments: places)
    func `an object that was led somewhere and back takes its place in the order of the store`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        sides.mine.mergePolicy = .storeTrump
        let (owner, member) = (try sides.board.bead(0, in: sides.mine), try sides.board.bead(3, in: sides.mine))
        try owner.add([member], toRelationshipNamed: "queue")
        try owner.remove([member], fromRelationshipNamed: "queue")
        try sides.change(2, .a, [1], in: sides.mine)
        try sides.store { try sides.change(0, .queue, [3, 1, 2], in: $0) }

        try sides.mine.save()

        #expect(try sides.board.stored()[0]?[.queue] == [3, 1, 2])
        #expect(try sides.board.stored()[2]?[.a] == [1])
    }

    @Test(arguments: places)
    func `a change that the store has come back from is no conflict for a policy to decide`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 3)
        sides.mine.mergePolicy = .storeTrump
        try sides.change(0, .best, [1], in: sides.mine)
        try sides.store { try sides.change(0, .best, [2], in: $0) }
        sides.mine.refreshAllObjects()
        try sides.store { try sides.change(0, .best, [], in: $0) }

        try sides.mine.save()

        #expect(try sides.board.stored()[0]?[.best] == [1])
    }

    @Test(arguments: places)
    func `a save that fails after it met what both sides have deleted leaves the context as it was`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4, [.mate: .noAction, .fans: .deny])
        sides.mine.mergePolicy = .objectTrump
        try sides.change(1, .mateOf, [0], in: sides.mine)
        for number in [0, 2] { try sides.delete(number) }
        let deleted = sides.mine.deletedObjects
        try sides.store { context in
            try sides.change(1, .b, [1], in: context)
            try context.delete(sides.board.bead(0, in: context))
            try sides.change(3, .best, [2], in: context)
        }

        let error = contextError { try sides.mine.save() }

        #expect(error != nil)
        #expect(sides.mine.deletedObjects == deleted && deleted.count == 2)
        #expect(try sides.shown(1, .mateOf) == [0])
    }

    // MARK: Rules after a merge

    @Test(arguments: places, [MergePolicy.storeTrump, .objectTrump])
    func `a cascade takes what somebody else has led to a deleted object, though it is changed here`(
        _ place: BeadBoard.Place, _ policy: MergePolicy
    ) throws {
        let sides = try Sides(place, count: 2, [.fans: .cascade])
        sides.mine.mergePolicy = policy
        try sides.delete(0)
        try sides.change(1, .b, [3], in: sides.mine)
        try sides.store { try sides.change(1, .best, [0], in: $0) }

        try sides.mine.save()

        #expect(try sides.board.stored().isEmpty)
        #expect(sides.mine.registeredObjects.isEmpty)
    }

    @Test(arguments: places)
    func `a deletion is denied for what somebody else has led to it, though that is changed here`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 2, [.fans: .deny])
        sides.mine.mergePolicy = .objectTrump
        try sides.delete(0)
        try sides.change(1, .b, [3], in: sides.mine)
        try sides.store { try sides.change(1, .best, [0], in: $0) }

        let error = contextError { try sides.mine.save() }

        #expect(error != nil)
        #expect(try sides.board.stored()[1]?[.best] == [0])
    }

    @Test(arguments: places)
    func `a deletion is not denied for what somebody else has deleted`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 2, [.friend: .deny])
        sides.mine.automaticallyMergesChangesFromParent = true
        try sides.change(0, .friend, [1], in: sides.mine)
        for number in [0, 1] { try sides.delete(number) }
        try sides.store { try $0.delete(sides.board.bead(1, in: $0)) }

        try sides.mine.save()

        #expect(try sides.board.stored().isEmpty)
    }

    // MARK: What a deleted object led to

    /// Each relationship with the rule `cascade`.
    @Test(arguments: places, BeadProperty.relationships)
    func `a deletion takes what the object leads to by now, and not what it led to before`(
        _ place: BeadBoard.Place, _ property: BeadProperty
    ) throws {
        let sides = try Sides(place, count: 3, [property: .cascade])
        try sides.store { try sides.change(0, property, [1], in: $0) }
        try sides.change(0, property, [2], in: sides.mine)
        try sides.delete(0)

        try sides.mine.save()

        #expect(try Set(sides.board.stored().keys) == [1])
        #expect(BeadBoard.fault(in: try sides.board.stored()) == nil)
        #expect(try sides.board.findings().isEmpty)
    }

    /// Each relationship with the rule `deny`.
    @Test(arguments: places, BeadProperty.relationships)
    func `a deletion is denied for what the object leads to by now, and not for what it led to before`(
        _ place: BeadBoard.Place, _ property: BeadProperty
    ) throws {
        for isRelated in [true, false] {
            let sides = try Sides(place, count: 2, [property: .deny])
            if !isRelated { try sides.store { try sides.change(0, property, [1], in: $0) } }
            try sides.change(0, property, isRelated ? [1] : [], in: sides.mine)
            try sides.delete(0)

            let error = contextError { try sides.mine.save() }

            #expect((error != nil) == isRelated)
            #expect(try Set(sides.board.stored().keys) == (isRelated ? [0, 1] : [1]))
        }
    }

    // MARK: Rows that are gone or come again

    @Test(arguments: places)
    func `an object that only loses what was related to it is in no conflict when it is gone`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 3)
        try sides.store { context in
            try sides.change(0, .mate, [1], in: context)
            try sides.change(1, .queue, [2], in: context)
        }
        sides.mine.automaticallyMergesChangesFromParent = true
        try sides.change(1, .b, [], in: sides.mine)
        try sides.change(0, .tags, [2], in: sides.mine)
        try sides.change(2, .head, [0], in: sides.mine)
        #expect(try sides.shown(1, .mateOf) == [0])
        try sides.store { context in
            try sides.change(2, .head, [0], in: context)
            try context.delete(sides.board.bead(1, in: context))
        }

        try sides.mine.save()

        #expect(try sides.board.stored()[0]?[.tags] == [2])
        #expect(try Set(sides.board.stored().keys) == [0, 2])
    }

    @Test(arguments: places)
    func `a deletion that somebody else has saved as well is over, though the row comes again`(
        _ place: BeadBoard.Place
    ) throws {
        // Of both ends one alone tells the store of pairs.
        for (property, isChanged) in [(BeadProperty.tags, true), (.tags, false), (.tagged, false)] {
            let sides = try Sides(place, count: 2)
            try sides.store { try sides.change(0, property, [1], in: $0) }
            sides.mine.automaticallyMergesChangesFromParent = true
            sides.mine.mergePolicy = .overwrite
            let third = ManagedObjectContext(sides.board.coordinator)
            third.mergePolicy = .objectTrump
            try sides.change(0, .a, [1], in: third)
            #expect(try sides.board.shown(sides.board.bead(0, in: third), property) == [1])
            if isChanged { try sides.change(0, .b, [1], in: sides.mine) } else { try sides.delete(0) }
            try sides.store { try $0.delete(sides.board.bead(0, in: $0)) }
            sides.mine.processPendingChanges()
            if isChanged {
                let id = try #require(sides.board.ids[0])
                try sides.mine.delete(try #require(sides.mine.registeredObject(for: id)))
                sides.mine.processPendingChanges()
            }
            try third.save()

            try sides.change(1, .b, [5], in: sides.mine)
            try sides.mine.save()

            let stored = try sides.board.stored()
            #expect(stored[0]?[.a] == [1] && stored[0]?[property] == [1] && stored[1]?[.b] == [5], "\(isChanged)")
            #expect(try sides.shown(0, property) == [1], "\(isChanged)")
        }
    }

    @Test(arguments: places)
    func `a row that is inserted again takes no partner away`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 3)
        try sides.store { try sides.change(0, .mate, [1], in: $0) }
        sides.mine.mergePolicy = .objectTrump
        try sides.change(0, .a, [1], in: sides.mine)
        #expect(try sides.shown(0, .mate) == [1] && sides.shown(1, .mateOf) == [0])
        try sides.store { try $0.delete(sides.board.bead(0, in: $0)) }
        try sides.store { try sides.change(2, .mate, [1], in: $0) }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[0]?[.a] == [1] && stored[0]?[.mate] == [] && stored[1]?[.mateOf] == [2])
    }

    @Test(arguments: places)
    func `what a merge has emptied follows the store again`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 3)
        sides.mine.automaticallyMergesChangesFromParent = true
        sides.mine.mergePolicy = .objectTrump
        try sides.change(0, .mateOf, [1], in: sides.mine)
        try sides.store { try sides.change(0, .mate, [0], in: $0) }
        sides.mine.processPendingChanges()
        #expect(try sides.shown(0, .mate).isEmpty && sides.shown(0, .mateOf) == [1])
        try sides.store { try sides.change(2, .mateOf, [0], in: $0) }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[0]?[.mate] == [2] && stored[0]?[.mateOf] == [1] && stored[2]?[.mateOf] == [0])
    }

    // MARK: What is changed below

    @Test(arguments: places, [BeadProperty.tags, .marks])
    func `what was added here and is stored by now can be removed`(
        _ place: BeadBoard.Place, _ property: BeadProperty
    ) throws {
        let sides = try Sides(place, count: 3)
        try sides.change(0, property, [1], in: sides.mine)
        let context = ManagedObjectContext(sides.board.coordinator)
        try sides.change(0, property, [1, 2], in: context)
        try context.save()
        // That of another object takes the newest generation in.
        sides.mine.refresh(try sides.board.bead(2, in: sides.mine), mergesChanges: true)

        try sides.board.bead(0, in: sides.mine).remove(
            [sides.board.bead(1, in: sides.mine)], fromRelationshipNamed: property.name)

        #expect(try sides.shown(0, property) == [2])
        try sides.mine.save()
        #expect(try sides.board.stored()[0]?[property] == [2])
    }

    @Test(arguments: places, [BeadProperty.mate, .tags, .listed, .fans])
    func `an object that lost what was related to it here goes with its row`(
        _ place: BeadBoard.Place, _ property: BeadProperty
    ) throws {
        let sides = try Sides(place, count: 3)
        try sides.store { try sides.change(0, property, [1], in: $0) }
        let ends = try [0, 1].map { try sides.board.bead($0, in: sides.mine) }
        #expect(try sides.shown(0, property) == [1] && ends.allSatisfy { $0.managedObjectContext != nil })
        try sides.change(0, property, [], in: sides.mine)
        try sides.store { try $0.delete(sides.board.bead(1, in: $0)) }
        sides.mine.refreshAllObjects()

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[1] == nil && stored[0]?[property] == [])
    }

    @Test(arguments: places, [(BeadProperty.fans, BeadProperty.best), (.queue, .head)])
    func `what left a set while the rows were gone follows its own row when it comes again`(
        _ place: BeadBoard.Place, _ ends: (many: BeadProperty, one: BeadProperty)
    ) throws {
        let sides = try Sides(place, count: 3)
        try sides.store { try sides.change(0, ends.many, [1, 2], in: $0) }
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .overwrite
        let others = try [0, 1, 2].map { try sides.board.bead($0, in: other) }
        for number in [0, 1] { try sides.change(number, .a, [3], in: other) }
        #expect(try sides.board.shown(others[0], ends.many) == [1, 2])
        #expect(try sides.shown(0, ends.many) == [1, 2])
        try sides.change(0, .b, [1], in: sides.mine)
        try sides.store { context in
            for number in [0, 1] { try context.delete(sides.board.bead(number, in: context)) }
        }
        sides.mine.refreshAllObjects()
        let owner = try sides.board.bead(0, in: sides.mine)
        try owner.setValue(.toMany([]), forKey: ends.many.name)
        try other.save()

        sides.mine.refreshAllObjects()

        let member = try sides.board.bead(1, in: sides.mine)
        #expect(try sides.board.shown(member, ends.one) == [0])
        #expect(try sides.board.shown(owner, ends.many).contains(1))
    }

    @Test(arguments: places)
    func `a deletion is denied for what somebody else has related to it, although what it led to went here`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 3, [.mateOf: .deny])
        try sides.store { try sides.change(1, .mate, [0], in: $0) }
        sides.mine.mergePolicy = .rollback
        try sides.delete(1)
        try sides.delete(0)
        try sides.store { try sides.change(2, .mate, [0], in: $0) }
        sides.mine.refreshAllObjects()

        #expect(throws: ContextError.self) { try sides.mine.save() }

        let stored = try sides.board.stored()
        #expect(stored[2]?[.mate] == [0] && stored[0]?[.mateOf] == [2])
    }

    @Test(arguments: places, [BeadProperty.a, .best, .hint])
    func `a change is made on what both sides had come to`(_ place: BeadBoard.Place, _ property: BeadProperty) throws {
        let sides = try Sides(place, count: 4)
        try sides.change(0, property, [3], in: sides.mine)
        try sides.store { try sides.change(0, property, [3], in: $0) }
        sides.mine.refreshAllObjects()
        try sides.change(0, property, [1], in: sides.mine)
        try sides.store { try sides.change(0, property, property == .a ? [0] : [], in: $0) }
        sides.mine.refreshAllObjects()

        #expect(throws: ContextError.self) { try sides.mine.save() }
    }

    @Test(arguments: places, [BeadProperty.a, .best, .head, .mate, .mateOf, .friend, .hint])
    func `a change that goes from one value to another is in conflict with a value that was removed meanwhile`(
        _ place: BeadBoard.Place, _ property: BeadProperty
    ) throws {
        let sides = try Sides(place, count: 4)
        let none = property == .a ? [7] : []
        try sides.store { try sides.change(0, property, [2], in: $0) }
        try sides.change(0, property, [1], in: sides.mine)
        try sides.store { try sides.change(0, property, none, in: $0) }
        sides.mine.refreshAllObjects()
        try sides.change(0, property, [3], in: sides.mine)
        sides.mine.mergePolicy = .storeTrump

        try sides.mine.save()

        #expect(try sides.board.stored()[0]?[property] == none)
    }

    @Test(arguments: places, [BeadProperty.a, .best, .hint])
    func `a change that was taken back to what is stored is forgotten, and the next one is no conflict`(
        _ place: BeadBoard.Place, _ property: BeadProperty
    ) throws {
        let sides = try Sides(place, count: 4)
        try sides.change(0, property, [1], in: sides.mine)
        try sides.store { try sides.change(0, property, [2], in: $0) }
        sides.mine.refreshAllObjects()
        try sides.change(0, property, [2], in: sides.mine)
        try sides.change(0, property, [3], in: sides.mine)

        try sides.mine.save()

        #expect(try sides.board.stored()[0]?[property] == [3])
    }

    @Test(arguments: places)
    func `an unsaved object forgets what both sides have deleted`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 2, [.list: .noAction])
        let bead = Bead(context: sides.mine)
        try sides.board.bead(1, in: sides.mine).setValue(.toMany([bead]), forKey: "list")
        try sides.delete(1)
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .overwrite
        try sides.change(1, .a, [2], in: other)
        try sides.store { try $0.delete(sides.board.bead(1, in: $0)) }
        sides.mine.refreshAllObjects()
        try other.save()
        sides.mine.refreshAllObjects()

        #expect(try bead.objectIDs(forRelationshipNamed: "listed").isEmpty)
        try sides.mine.save()
        #expect(BeadBoard.fault(in: try sides.board.stored()) == nil)
    }
}
