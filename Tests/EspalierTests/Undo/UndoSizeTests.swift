// Undoing over the sizes of values and of events: the limits of each width of numbers, a text of 30 MB, text beyond
// ASCII, and thousands of changes; after each save a fresh context reads the same.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct UndoSizeTests {
    /// Numbers that need 1, 2, 4 and 8 bytes, at both limits.
    private static let numbers = [7, 15, 31, 63].flatMap { bits -> [Int] in
        let end = Int.max >> (63 - bits)
        return bits == 63 ? [end, ~end] : [end, end + 1, ~end, ~end - 1]
    }

    @Test(arguments: StoreKind.allCases)
    func `numbers of every width are undone and redone over saves`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let track = Track(context: stack.context)
        track.name = "counted"
        try stack.context.saveAndCompare()
        stack.context.undoManager = UndoStack()
        let numbers = Self.numbers + Self.numbers.reversed().dropFirst()
        for number in numbers {
            track.bytes = number
            try stack.context.saveAndCompare()
        }

        for number in ([0] + numbers.dropLast()).reversed() {
            try stack.context.undo()
            #expect(track.bytes == number)
            try stack.context.saveAndCompare()
        }
        #expect(undoError { try stack.context.undo() } == .nothingToUndo)
        for number in numbers {
            try stack.context.redo()
            #expect(track.bytes == number)
            try stack.context.saveAndCompare()
        }
        #expect(try stack.stored(Track.self).map(\.bytes) == [numbers.last])
    }

    @Test(arguments: StoreKind.allCases)
    func `a text of 30 MB and one beyond ASCII come back, also with an object whose deletion was saved`(
        _ kind: StoreKind
    ) throws {
        let stack = try Stack(kind)
        let large = String(repeating: "Straße 日本 ", count: 2_000_000)
        let track = Track(context: stack.context)
        track.name = large
        try stack.context.saveAndCompare()
        stack.context.undoManager = UndoStack()
        track.name = "é\u{301}🎻"
        try stack.context.saveAndCompare()
        try stack.context.delete(track)
        try stack.context.save()
        #expect(try stack.stored(Track.self).isEmpty)

        try stack.context.undo()
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Track.self).map(\.name) == ["é\u{301}🎻"])
        try stack.context.undo()
        try stack.context.saveAndCompare()
        #expect(try stack.stored(Track.self).map(\.name) == [large])
    }

    @Test(arguments: [0, 1, campaignCount("ESPALIER_UNDO_SIZE", default: 10_000)])
    func `an event of any size is undone, saved and redone as a whole`(_ count: Int) throws {
        let stack = try Stack(.btree)
        stack.context.undoManager = UndoStack()
        for number in 0..<count { Track(context: stack.context).name = "\(number)" }
        stack.context.processPendingChanges()
        try stack.context.save()

        if count == 0 {
            #expect(undoError { try stack.context.undo() } == .nothingToUndo)
            #expect(undoError { try stack.context.redo() } == .nothingToRedo)
            return
        }
        try stack.context.undo()
        try stack.context.save()
        #expect(try stack.stored(Track.self).isEmpty)
        try stack.context.redo()
        try stack.context.saveAndCompare()

        #expect(try Set(stack.stored(Track.self).map(\.name)) == Set((0..<count).map { "\($0)" }))
    }
}
