// Folding against its definition: scalar by scalar over the whole text, without a table.

import EspalierModel
import Foundation
import TestSupport
import Testing

@_spi(_Unicode) import Swift

@Suite struct FoldingOracleTests {
    private typealias Options = FetchPredicate.Comparison.Options

    /// The definition: it neither cuts the text nor uses a table.
    private func slowlyFolded(_ text: String, _ options: Options) -> String {
        let (ignoresCase, ignoresMarks) = (options.contains(.caseInsensitive), options.contains(.diacriticInsensitive))
        var folded = String.UnicodeScalarView()
        for scalar in text._nfd {
            let mark = scalar.properties.canonicalCombiningClass.rawValue
            if ignoresMarks, mark == 1 || mark >= 10 { continue }
            guard ignoresCase, scalar != "\u{131}" else {
                folded.append(scalar)
                continue
            }
            let lower = scalar.properties.lowercaseMapping.unicodeScalars
            for upper in lower.map(\.properties.uppercaseMapping).joined().unicodeScalars {
                for again in upper.properties.lowercaseMapping.unicodeScalars { folded.append(again) }
            }
        }
        var composed = String.UnicodeScalarView()
        for scalar in String(folded)._nfc { composed.append(scalar) }
        return String(composed)
    }

    @Test func `three signs become ASCII, and a text in ASCII without their results has no other form`() {
        // The blocks with signs whose canonical decomposition is one other sign.
        let blocks: [ClosedRange<UInt32>] = [0x80...0x33FF, 0xF900...0xFAFF, 0x2_F800...0x2_FA1F]
        var results: Set<String> = []
        for number in blocks.joined() {
            guard let scalar = Unicode.Scalar(number) else { continue }
            let composed = TextFolding.composed(String(Character(scalar)))
            if composed.utf8.allSatisfy({ $0 < 0x80 }) { results.insert(composed) }
        }

        #expect(results == ["K", ";", "`"])
        for text in results { #expect(!TextFolding.hasOneForm(Array("a\(text)".utf8)), "\(text)") }
        #expect(!TextFolding.hasOneForm(Array("caf\u{e9}".utf8)))
        #expect(TextFolding.hasOneForm(Array("Jack, 12: (k) \u{0}~".utf8)) && TextFolding.hasOneForm([]))
    }

    private func expectSame(_ text: String, _ comment: Comment) {
        let ways: [Options] = [.caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive]]
        for options in ways {
            let (fast, slow) = (TextFolding.folded(text, options), slowlyFolded(text, options))
            if !fast.utf8.elementsEqual(slow.utf8) {
                let scalars = text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
                Issue.record("\(comment), \(options): \(scalars) folds to \(fast), not \(slow)")
            }
        }
    }

    @Test func `every scalar folds as it is defined, alone and between letters and marks`() {
        for value in UInt32(0)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value), !scalar.isASCII else { continue }
            // Blocks without letters take long and test nothing.
            if (0x3500..<0x4D00).contains(value) || (0x4F00..<0x9F00).contains(value) { continue }
            if (0xAD00..<0xD700).contains(value) || (0xE100..<0xF800).contains(value) { continue }
            expectSame(String(scalar), "alone")
            guard value % 7 == 0 || value < 0x3100 else { continue }
            var view = String.UnicodeScalarView("e".unicodeScalars)
            view.append(contentsOf: [scalar, "\u{301}", "K", scalar])
            expectSame(String(view), "between")
        }
    }

    @Test func `random text folds as it is defined`() {
        let seed = testSeed(default: 70)
        var random = SeededGenerator(seed: seed)
        // Letters of many scripts, marks of several classes, out of order as well, jamo, syllables, emoji.
        let ranges: [ClosedRange<UInt32>] = [
            0x20...0x7E, 0xA0...0x24F, 0x300...0x36F, 0x370...0x52F, 0x531...0x5F4, 0x600...0x6FF, 0x900...0x9FF,
            0xB00...0xBFF, 0xE01...0xE3A, 0xF40...0xFBC, 0x1025...0x1039, 0x10A0...0x10FF, 0x1100...0x11FF,
            0x13A0...0x13F5, 0x1AB0...0x1ACE, 0x1DC0...0x1DFF, 0x1E00...0x1FFE, 0x2000...0x206F, 0x20D0...0x20F0,
            0x2126...0x212B, 0x3041...0x30FF, 0x4E00...0x4E20, 0xA640...0xA69F, 0xAB70...0xABBF, 0xAC00...0xAC80,
            0xF900...0xFAD9, 0xFB00...0xFB4F, 0x10400...0x1044F, 0x11099...0x110BA, 0x11930...0x1193E,
            0x1D15E...0x1D1C0, 0x1E900...0x1E943, 0x1F300...0x1FAFF,
        ]
        let special = "ßẞİıŉǰΐςσΣſKÅŁøđ\u{345}\u{34F}\u{3099}\u{9BE}\u{DCF}\u{1161}\u{11A8}\u{200D}\u{FE0F}e\u{301}"
            .unicodeScalars.map(\.self)
        for round in 0..<campaignCount("ESPALIER_FOLDING_ROUNDS", default: 4000) {
            var view = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                if Int.random(in: 0..<3, using: &random) == 0 {
                    view.append(special[Int.random(in: 0..<special.count, using: &random)])
                    continue
                }
                let range = ranges[Int.random(in: 0..<ranges.count, using: &random)]
                if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { view.append(scalar) }
            }
            expectSame(String(view), "seed \(seed), round \(round)")
        }
    }

    @Test func `what a scalar decomposes to folds as it is defined, so no composition is cut`() {
        var count = 0
        for value in UInt32(0x80)...0x2_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let parts = Array(String(scalar)._nfd)
            // Only every twentieth syllable, since there are 11,172 of the same form.
            guard parts.count > 1, !(0xAC00...0xD7A3).contains(value) || value % 20 == 0 else { continue }
            var view = String.UnicodeScalarView()
            for part in parts { view.append(part) }
            expectSame(String(view), "decomposed")
            // Between other letters, and with the last part twice: only the first of the two composes.
            view.append(parts[parts.count - 1])
            expectSame("k\(String(view))ö", "decomposed, between")
            count += 1
        }
        #expect(count > 1_500)
    }

    @Test func `a text that grows by folding, and a pair of scalars met again, fold as they are defined`() {
        for unit in [
            "ŉ", "İ", "\u{1D160}", "\u{390}", "ﬃ", "ῗ", "e\u{301}", "q\u{301}", "が\u{3099}", "\u{1100}\u{1161}",
        ] {
            for count in [1, 2, 100, 3_000] { expectSame(String(repeating: unit, count: count), "\(count) times") }
        }
    }

    @Test func `threads that fold the same letters at once all get what is defined`() async {
        let texts = (0..<64).map { number in
            let scalars = (0..<60).compactMap { Unicode.Scalar(UInt32(0x10400 + (number * 61 + $0 * 257) % 0x1B00)) }
            var view = String.UnicodeScalarView()
            for scalar in scalars { view.append(contentsOf: [scalar, "\u{301}"]) }
            return String(view)
        }
        let expected = texts.map { slowlyFolded($0, [.caseInsensitive]) }

        let wrong = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    texts.indices.count { index in
                        let place = (index * 7 + worker * 5) % texts.count
                        let folded = TextFolding.folded(texts[place], .caseInsensitive)
                        return !folded.utf8.elementsEqual(expected[place].utf8)
                    }
                }
            }
            return await group.reduce(0, +)
        }

        #expect(wrong == 0)
    }

    @Test func `text is ordered and found by the bytes of what it folds to`() throws {
        let seed = testSeed(default: 71)
        var random = SeededGenerator(seed: seed)
        let library = try MusicLibrary()
        // Few letters that share bytes, so that parts occur, nearly occur, and overlap with themselves.
        let letters: [Character] = ["a", "A", "α", "Α", "β", "ά", "ӱ", "日", "旦", "e", "é", "ß"]
        func text(_ lengths: ClosedRange<Int>) -> String {
            let length = Int.random(in: lengths, using: &random)
            return String((0..<length).map { _ in letters[Int.random(in: 0..<letters.count, using: &random)] })
        }
        for round in 0..<campaignCount("ESPALIER_FOLDING_ROUNDS", default: 2000) {
            let (whole, part) = (text(0...12), text(0...3))
            let album = try library.object("Album", ["title": .string(whole)])
            for (name, options) in [("", []), ("[c]", .caseInsensitive), ("[d]", .diacriticInsensitive)]
                as [(String, Options)]
            {
                let folded = Array(slowlyFolded(whole, options).utf8)
                let wanted = Array(slowlyFolded(part, options).utf8)
                let places = folded.count >= wanted.count ? 0...(folded.count - wanted.count) : nil
                let isIn = places?.contains { folded[$0...].starts(with: wanted) } ?? false
                let begins = folded.starts(with: wanted)
                let ends = folded.reversed().starts(with: wanted.reversed())
                let precedes = folded.lexicographicallyPrecedes(wanted)
                let comment: Comment = "seed \(seed), round \(round): \(whole), \(part), \(name)"
                #expect(try library.holds("title CONTAINS\(name) %@", part, on: album) == isIn, comment)
                #expect(try library.holds("title BEGINSWITH\(name) %@", part, on: album) == begins, comment)
                #expect(try library.holds("title ENDSWITH\(name) %@", part, on: album) == ends, comment)
                #expect(try library.holds("title ==\(name) %@", part, on: album) == (folded == wanted), comment)
                #expect((TextFolding.compare(whole, part, options) == .orderedAscending) == precedes, comment)
            }
        }
    }

    @Test(arguments: ["Straße ", "Привет ", "日本語 ", "e\u{301}a\u{323}", "नमस्ते ", "Tiếng Việt "])
    func `folding text of any script takes time in proportion to its length`(_ word: String) {
        func now() -> UInt64 {
            // The processor time of this thread, since other processes use the machine too.
            var time = timespec()
            // SAFETY: `time` lives as long as the call.
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
        }
        func time(_ count: Int) -> UInt64 {
            let text = String(repeating: word, count: count)
            let times = (0..<3).map { _ in
                let start = now()
                _ = TextFolding.folded(text, [.caseInsensitive, .diacriticInsensitive])
                return now() - start
            }
            return times.min() ?? 0
        }
        _ = time(10)

        let (short, long) = (time(1_000), time(16_000))

        // The text is sixteen times as long; quadratic time would be 256 times as much.
        #expect(long < short * 80, "\(short) ns and \(long) ns")
    }

    @Test func `CONTAINS takes no time in proportion to what it looks for`() throws {
        let library = try MusicLibrary()
        let text = String(repeating: "a", count: 200_000)
        let part = String(repeating: "a", count: 50_000) + "ba"
        let album = try library.object("Album", ["title": .string(text)])

        var isFound = true
        let elapsed = try ContinuousClock().measure {
            isFound = try library.holds("title CONTAINS %@", part, on: album)
        }

        #expect(!isFound)
        // A comparison at every place would need 7,500,000,000 steps.
        #expect(elapsed < .seconds(10))
    }
}
