// A saved object reads its last value, however wide the number is and however often the object was saved.

import Espalier
import EspalierModel
import TestSupport
import Testing

@Suite struct SavedValueTests {
    /// The limits of each width that a row may give a number.
    private static let numbers: [Int] = [7, 15, 31, 63].flatMap { bits -> [Int] in
        let end = Int.max >> (63 - bits)
        return bits == 63 ? [end, ~end] : [end, end + 1, ~end, ~end - 1]
    }

    @Test(arguments: StoreKind.allCases)
    func `a number reads what was saved last, at both ends of every width`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let track = Track(context: stack.context)
        track.name = "counted"
        try stack.context.saveAndCompare()

        for number in Self.numbers + Self.numbers.reversed() + [0, 5000, 1, 200] {
            track.bytes = number
            try stack.context.saveAndCompare()

            #expect(track.bytes == number)
            #expect(try stack.stored(Track.self).map(\.bytes) == [number])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an object that is saved thousands of times in one context reads its last value`(_ kind: StoreKind) throws {
        let saveCount = campaignCount("ESPALIER_OBJECT_SAVES", default: 1500)
        let stack = try Stack(kind)
        let track = Track(context: stack.context)
        track.name = "often"
        try stack.context.saveAndCompare()

        for number in 1...saveCount {
            track.seconds = Int16(number % 1000)
            try stack.context.save()
            #expect(track.seconds == Int16(number % 1000))
            // A fresh context is slow in a debug build, so compare only near the limits of widths and after every 100
            // saves.
            if number % 100 == 0 || (250...260).contains(number) || (65_530...65_540).contains(number) {
                stack.context.compareWithFreshContext()
            }
        }

        #expect(try stack.stored(Track.self).map(\.seconds) == [Int16(saveCount % 1000)])
    }

    @Test(arguments: StoreKind.allCases)
    func `rows that need more width keep their places among the rows of one save`(_ kind: StoreKind) throws {
        let stack = try Stack(kind)
        let tracks = (0..<20).map { number in
            let track = Track(context: stack.context)
            (track.name, track.bytes) = ("\(number)", 0)
            return track
        }
        try stack.context.saveAndCompare()

        for round in 1...4 {
            // Some numbers fit in their old width, some need a wider row, and some rows do not change.
            for (number, track) in tracks.enumerated() where (number + round) % 3 != 0 {
                track.bytes = number % 2 == 0 ? number + round : number << (8 * round)
            }
            try stack.context.saveAndCompare()

            let stored = try stack.stored(Track.self)
            #expect(
                Dictionary(uniqueKeysWithValues: stored.map { ($0.name, $0.bytes) })
                    == Dictionary(uniqueKeysWithValues: tracks.map { ($0.name, $0.bytes) }))
        }
    }
}
