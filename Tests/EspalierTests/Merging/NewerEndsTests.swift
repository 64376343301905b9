// Relationships that newer rows change below unsaved changes, at the end that was not changed here: walks of three
// contexts have found each of these.

import Espalier
import EspalierModel
import Testing

@Suite struct NewerEndsTests {
    private static let places: [BeadBoard.Place] = [.plain, .memory]

    @Test(arguments: places)
    func `a pair that a change here has hidden follows the store when it leads to itself`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        try sides.store { try sides.change(2, .friend, [2], in: $0) }
        try sides.change(3, .friend, [1], in: sides.mine)
        try sides.store { try sides.change(1, .friend, [2], in: $0) }
        sides.mine.refreshAllObjects()
        #expect(try sides.shown(2, .friend) == [])
        try sides.store { try sides.change(2, .friend, [2], in: $0) }
        sides.mine.refreshAllObjects()

        #expect(try sides.shown(2, .friend) == [2])
        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[2]?[.friend] == [2] && stored[1]?[.friend] == [3] && stored[3]?[.friend] == [1])
    }

    @Test(arguments: places, [MergePolicy.error, .storeTrump, .objectTrump])
    func `a move past a destination that the store has removed leaves the order to the store`(
        _ place: BeadBoard.Place, _ policy: MergePolicy
    ) throws {
        let sides = try Sides(place, count: 4)
        sides.mine.mergePolicy = policy
        try sides.store { try sides.change(0, .list, [1, 2, 3], in: $0) }
        try sides.change(0, .list, [1, 3, 2], in: sides.mine)
        try sides.store { try sides.change(0, .list, [3, 1], in: $0) }
        sides.mine.refreshAllObjects()
        #expect(try sides.shown(0, .list) == [3, 1])

        try sides.mine.save()

        #expect(try sides.board.stored()[0]?[.list] == [3, 1])
    }

    @Test func `a destination that is removed at the other end leaves a list that was read before it had it`() throws {
        let sides = try Sides(.file, count: 4)
        try sides.change(0, .listed, [2], in: sides.mine)
        #expect(try sides.shown(2, .list) == [0])
        try sides.store { try sides.change(2, .list, [3, 2], in: $0) }
        // The generation of the context is lost: what it has not read yet it reads from the newest one.
        try sides.board.reopen()
        #expect(try sides.shown(2, .listed) == [2])
        try sides.change(2, .listed, [0], in: sides.mine)
        sides.mine.refreshAllObjects()

        #expect(try sides.shown(2, .list) == [3, 0] && sides.shown(2, .listed) == [0])
        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[2]?[.list] == [3, 0] && stored[2]?[.listed] == [0])
    }

    @Test(arguments: places)
    func `a list keeps an owner that is deleted here until the store has cascaded from it`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4, [.listed: .cascade])
        sides.mine.mergePolicy = .objectTrump
        #expect(try sides.shown(1, .listed) == [] && sides.shown(2, .list) == [])
        try sides.change(2, .list, [], in: sides.mine)
        try sides.change(2, .best, [2], in: sides.mine)
        try sides.delete(1)
        try sides.store { try sides.change(1, .listed, [2], in: $0) }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[1] == nil && stored[2] == nil)
    }

    @Test(arguments: places)
    func `an object whose row is deleted stays deleted, with its values, when it also leaves a changed list`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        try sides.store {
            try sides.change(0, .queue, [1, 2, 3], in: $0)
            try sides.change(1, .a, [7], in: $0)
        }
        sides.mine.automaticallyMergesChangesFromParent = true
        let gone = try sides.board.bead(1, in: sides.mine)
        #expect(try sides.shown(1, .a) == [7])
        try sides.change(0, .queue, [1, 3, 2], in: sides.mine)
        try sides.store { try $0.delete(sides.board.bead(1, in: $0)) }
        sides.mine.processPendingChanges()

        #expect(gone.isDeleted)
        #expect(try sides.board.shown(gone, .a) == [7])
    }

    @Test(arguments: places)
    func `an object that was removed here before its row was deleted is a member again when the row is there again`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        try sides.store { try sides.change(0, .best, [3], in: $0) }
        #expect(try sides.shown(3, .fans) == [0])
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .objectTrump
        try sides.change(0, .a, [1], in: other)
        #expect(try sides.board.shown(sides.board.bead(0, in: other), .best) == [3])
        try sides.change(0, .best, [], in: sides.mine)
        try sides.store { try $0.delete(sides.board.bead(0, in: $0)) }
        sides.mine.refreshAllObjects()
        try other.save()
        sides.mine.refreshAllObjects()

        #expect(try sides.shown(0, .best) == [3] && sides.shown(3, .fans) == [0])
        try sides.mine.save()

        #expect(try sides.board.stored()[3]?[.fans] == [0])
    }

    @Test(arguments: places)
    func `a list forgets a destination that this context and another one have deleted, also if it is there again`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4, [.listed: .noAction])
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .objectTrump
        try sides.change(3, .a, [1], in: other)
        try sides.change(3, .listed, [2], in: sides.mine)
        try sides.store { try $0.delete(sides.board.bead(3, in: $0)) }
        sides.mine.refreshAllObjects()
        try sides.delete(3)
        #expect(try sides.shown(2, .list) == [])
        try other.save()
        sides.mine.refreshAllObjects()

        #expect(try sides.shown(2, .list) == [] && sides.shown(3, .listed) == [])
        try sides.mine.save()

        #expect(try sides.board.stored()[3]?[.listed] == [])
    }

    @Test(arguments: places)
    func `a relationship to a row that is there again is not emptied by a conflict about another property`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        sides.mine.mergePolicy = .rollback
        let gone = try sides.board.bead(2, in: sides.mine)
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .overwrite
        try sides.change(2, .a, [1], in: other)
        try sides.store { try $0.delete(sides.board.bead(2, in: $0)) }
        #expect(try sides.board.shown(gone, .a) == [] && gone.isDeleted)
        try sides.change(0, .b, [1], in: sides.mine)
        try other.save()
        try sides.store {
            try sides.change(0, .best, [2], in: $0)
            try sides.change(0, .b, [3], in: $0)
        }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[0]?[.best] == [2] && stored[2]?[.fans] == [0] && stored[0]?[.b] == [3])
        #expect(!gone.isDeleted)
    }

    @Test(arguments: places)
    func `an object that was deleted before another context saved a list of it reads as deleted after the merge`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        try sides.store { try sides.change(0, .tagged, [3], in: $0) }
        sides.mine.automaticallyMergesChangesFromParent = true
        let gone = try sides.board.bead(0, in: sides.mine)
        #expect(try sides.shown(0, .tagged) == [3])
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .overwrite
        try sides.change(0, .tagged, [], in: other)
        try sides.change(2, .a, [1], in: other)
        let third = ManagedObjectContext(sides.board.coordinator)
        try third.delete(sides.board.bead(0, in: third))
        try third.save()
        try other.save()
        sides.mine.processPendingChanges()

        #expect(gone.isDeleted)
    }
}
