// Relationships to rows that a save itself deletes, as it learns in the store: walks have found each of these.

import Espalier
import EspalierModel
import EspalierStore
import Testing

@Suite struct DrawnReferenceTests {
    private static let places: [BeadBoard.Place] = [.plain, .memory]

    @Test(arguments: places)
    func `what a cascade in the store reaches goes with the changes that led there`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 4, [.tagged: .cascade])
        sides.mine.mergePolicy = .overwrite
        try sides.change(3, .mate, [1], in: sides.mine)
        try sides.change(3, .tags, [2], in: sides.mine)
        try sides.delete(0)
        try sides.store { try sides.change(0, .tagged, [2], in: $0) }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[2] == nil && stored[3] == nil && stored[1]?[.mateOf] == [])
    }

    @Test(arguments: places)
    func `an object that comes again shows what was taken from it meanwhile`(_ place: BeadBoard.Place) throws {
        let sides = try Sides(place, count: 4)
        try sides.store { try sides.change(1, .friends, [3], in: $0) }
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .overwrite
        try sides.change(1, .a, [2], in: other)
        #expect(try sides.board.shown(sides.board.bead(1, in: other), .friends) == [3])
        try sides.change(3, .friends, [], in: sides.mine)
        try sides.store { try $0.delete(sides.board.bead(1, in: $0)) }
        sides.mine.refreshAllObjects()
        try other.save()
        sides.mine.refreshAllObjects()
        #expect(try sides.board.stored()[1]?[.friends] == [3])
        #expect(try sides.shown(1, .friends) == [3] && sides.shown(3, .friends) == [1])

        try sides.change(3, .a, [1], in: sides.mine)
        try sides.mine.save()

        #expect(try sides.shown(1, .friends) == sides.board.stored()[1]?[.friends])
    }

    @Test(arguments: places)
    func `what a pair that is written as a whole sets free keeps what somebody else has saved of it`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        sides.mine.mergePolicy = .overwrite
        try sides.store { try sides.change(0, .mate, [1], in: $0) }
        #expect(try sides.shown(0, .mate) == [1] && sides.shown(1, .mateOf) == [0])
        try sides.change(3, .a, [1], in: sides.mine)
        try sides.store { try sides.change(0, .mate, [2], in: $0) }
        // Reads from now on get newer values than those in memory.
        try sides.mine.save()
        #expect(try sides.shown(0, .mate) == [1] && sides.shown(2, .mateOf) == [0])
        try sides.change(1, .a, [1], in: sides.mine)
        try sides.store { try sides.change(2, .b, [3], in: $0) }

        try sides.mine.save()

        let stored = try sides.board.stored()
        #expect(stored[1]?[.mateOf] == [0] && stored[2]?[.mateOf] == [] && stored[2]?[.b] == [3])
    }

    @Test(arguments: places)
    func `an object that was related while its row was gone is there again when the row is`(
        _ place: BeadBoard.Place
    ) throws {
        let sides = try Sides(place, count: 4)
        let other = ManagedObjectContext(sides.board.coordinator)
        other.mergePolicy = .overwrite
        try sides.change(1, .a, [2], in: other)
        let (gone, owner) = (try sides.board.bead(1, in: sides.mine), try sides.board.bead(2, in: sides.mine))
        try sides.store { try $0.delete(sides.board.bead(1, in: $0)) }
        try owner.add([gone], toRelationshipNamed: "listed")
        #expect(try sides.board.shown(gone, .b).isEmpty && gone.isDeleted)
        try other.save()
        sides.mine.refreshAllObjects()

        #expect(!gone.isDeleted)
        try sides.mine.save()

        #expect(try sides.board.stored()[2]?[.listed] == [1])
    }
}
