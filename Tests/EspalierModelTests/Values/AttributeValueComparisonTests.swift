// The one order of values: total, exact across number types, by scalars for text (Behaviour FR-27, PR-05).

import EspalierModel
import Foundation
import TestSupport
import Testing

@Suite struct AttributeValueComparisonTests {
    private func decimal(_ text: String) throws -> AttributeValue { .decimal(try #require(Decimal(string: text))) }

    @Test func `numbers of different types compare by exact value`() throws {
        let ascending: [AttributeValue] = [
            .double(-.infinity), .double(-1e300), .integer(.min), try decimal("-0.1000000000000000055511151231257828"),
            .double(-0.1), try decimal("-0.1"), .integer(0), .double(.leastNonzeroMagnitude), try decimal("1e-100"),
            try decimal("0.1"), .double(0.1), .float(0.1), .integer(1 << 53), .integer((1 << 53) + 1),
            .double(0x1p53 + 2), try decimal("9223372036854775806.5"), .integer(.max), .double(0x1p63),
            try decimal("340282366920938463463374607431768211455"), try decimal("1e100"), .double(1e300),
            .double(.infinity), .double(.nan),
        ]
        for (left, smaller) in ascending.enumerated() {
            for (right, greater) in ascending.enumerated() {
                let expected: ComparisonResult =
                    left < right ? .orderedAscending : left == right ? .orderedSame : .orderedDescending
                // The double -0.1 is just less than the decimal with 34 of its digits, and both are less than the
                // decimal -0.1.
                if [3, 4].contains(left), [3, 4].contains(right), left != right { continue }
                #expect(smaller.compare(greater) == expected, "\(smaller) to \(greater)")
            }
        }
    }

    @Test(arguments: [
        (AttributeValue.integer(1), AttributeValue.double(1)), (.integer(1), .float(1)), (.integer(1), .decimal(1)),
        (.double(0), .double(-0.0)), (.double(.nan), .decimal(.nan)),
        (.double(0.5), .decimal(Decimal(sign: .plus, exponent: -1, significand: 5))),
        (.string("e\u{301}"), .string("\u{E9}")), (.null, .null),
    ]) func `these values are the same`(left: AttributeValue, right: AttributeValue) {
        #expect(left.compare(right) == .orderedSame)
        #expect(right.compare(left) == .orderedSame)
        #expect(left.canonical == right.canonical || left.canonical.compare(right.canonical) == .orderedSame)
    }

    @Test func `null comes first, kinds follow in a fixed order (FR-27)`() throws {
        let ascending: [AttributeValue] = [
            .null, .boolean(false), .boolean(true), .integer(.min), .date(.distantPast), .string(""),
            .uri(URL(fileURLWithPath: "/")), .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))),
            .binary(Data()), .binary(Data([0])), .binary(Data([0, 1])), .binary(Data([200])), .transformable(Data()),
            .composite([:]), .composite(["a": .integer(1)]), .composite(["a": .integer(2)]), .composite(["b": .null]),
        ]
        for (left, right) in zip(ascending, ascending.dropFirst()) {
            #expect(left.compare(right) == .orderedAscending, "\(left) to \(right)")
            #expect(right.compare(left) == .orderedDescending, "\(right) to \(left)")
        }
    }

    @Test func `the order of random values is total`() {
        var random = RandomPredicates(seed: testSeed(default: 30))
        for _ in 0..<campaignCount("ESPALIER_ORDER_ROUNDS", default: 3000) {
            let values = (0..<3).map { _ in random.value() }
            let (a, b, c) = (values[0], values[1], values[2])
            let options = random.pick(
                [[], .caseInsensitive, [.caseInsensitive, .diacriticInsensitive]] as [FetchPredicate.Comparison.Options]
            )
            func order(_ left: AttributeValue, _ right: AttributeValue) -> Int {
                left.compare(right, options: options).rawValue
            }
            #expect(order(a, a) == 0, "seed \(random.seed): \(a)")
            #expect(order(a, b) == -order(b, a), "seed \(random.seed): \(a), \(b)")
            if order(a, b) <= 0, order(b, c) <= 0 {
                #expect(order(a, c) <= 0, "seed \(random.seed): \(values)")
            }
            if options == [], order(a, b) == 0 {
                #expect(a.canonical == b.canonical, "seed \(random.seed): \(a), \(b)")
            }
        }
    }

    @Test(arguments: [
        ("0", false, 0), ("-0.1", true, -1), ("340282366920938463463374607431768211455", false, 0),
        ("1e127", false, 127),
        ("-12.5", true, -1),
    ]) func `a decimal's parts make the decimal again`(text: String, isNegative: Bool, exponent: Int) throws {
        let decimal = try #require(Decimal(string: text))
        let parts = try #require(decimal.parts)
        #expect(parts.isNegative == isNegative)
        #expect(parts.exponent == exponent)
        let again = try #require(
            Decimal(isNegative: parts.isNegative, significand: parts.significand, exponent: parts.exponent))
        #expect(again == decimal)
        #expect(Decimal.nan.parts == nil)
        #expect(Decimal(isNegative: false, significand: 1, exponent: 128) == nil)
    }
}

@Suite struct TextFoldingTests {
    @Test(arguments: [
        ("Straße", "STRASSE", "c"), ("ΣΊΣΥΦΟΣ", "σίσυφος", "c"), ("Éa", "ÉA", "c"), ("a\u{300}a", "aà", ""),
        ("àA", "Aà", "cd"), ("résumé", "RESUME", "cd"), ("Å", "a", "cd"), ("שָׁלוֹם", "שלום", "d"), ("ﬁ", "FI", "c"),
        ("ẞ", "ß", "c"),
    ]) func `these texts are equal`(left: String, right: String, options: String) {
        let options = Self.options(options)
        let expected = options.isEmpty ? left == right : true
        #expect((TextFolding.folded(left, options) == TextFolding.folded(right, options)) == expected)
        #expect((TextFolding.compare(left, right, options) == .orderedSame) == expected)
    }

    @Test(arguments: [
        ("é", "e", "c"), ("E", "e", "d"), ("か", "が", "d"), ("ı", "i", "c"), ("ø", "o", "cd"), ("क", "क़", "d"),
        ("e\u{301}", "é", "n"),
    ]) func `these texts differ`(left: String, right: String, options: String) {
        #expect(TextFolding.compare(left, right, Self.options(options)) != .orderedSame)
    }

    @Test func `folded text is composed, folds to itself, and its bytes have the order of compare`() {
        var random = SeededGenerator(seed: testSeed(default: 31))
        let ranges: [ClosedRange<UInt32>] = [
            0...0x7F, 0xC0...0x24F, 0x300...0x36F, 0x370...0x3FF, 0x1E00...0x1FFF, 0xAC00...0xAC80, 0x3040...0x30A0,
            0x1F600...0x1F610, 0x10400...0x10450,
        ]
        func text() -> String {
            var scalars = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...6, using: &random) {
                let range = ranges[Int.random(in: 0..<ranges.count, using: &random)]
                if let scalar = Unicode.Scalar(UInt32.random(in: range, using: &random)) { scalars.append(scalar) }
            }
            return String(scalars)
        }
        for _ in 0..<campaignCount("ESPALIER_FOLDING_ROUNDS", default: 3000) {
            let (left, right) = (text(), text())
            for options: FetchPredicate.Comparison.Options in [
                [], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive],
            ] {
                let (foldedLeft, foldedRight) = (TextFolding.folded(left, options), TextFolding.folded(right, options))
                #expect(
                    Array(TextFolding.folded(foldedLeft, options).utf8) == Array(foldedLeft.utf8),
                    "\(left.unicodeScalars.map(\.value))")
                #expect(Array(TextFolding.composed(foldedLeft).utf8) == Array(foldedLeft.utf8))
                let bytes: ComparisonResult =
                    foldedLeft.utf8.lexicographicallyPrecedes(foldedRight.utf8)
                    ? .orderedAscending
                    : foldedLeft.utf8.elementsEqual(foldedRight.utf8) ? .orderedSame : .orderedDescending
                #expect(TextFolding.compare(left, right, options) == bytes, "\(left) \(right) \(options)")
            }
        }
    }

    @Test func `folding of every single cased letter is idempotent`() {
        let folded = (0x80...0x1FFFF).compactMap(Unicode.Scalar.init).filter(\.properties.isCased).map {
            TextFolding.folded(String($0), .caseInsensitive)
        }
        #expect(folded.count > 3000)
        for text in folded {
            #expect(Array(TextFolding.folded(text, .caseInsensitive).utf8) == Array(text.utf8), "\(text)")
        }
    }

    static func options(_ letters: String) -> FetchPredicate.Comparison.Options {
        var options: FetchPredicate.Comparison.Options = []
        if letters.contains("c") { options.insert(.caseInsensitive) }
        if letters.contains("d") { options.insert(.diacriticInsensitive) }
        if letters.contains("n") { options.insert(.normalized) }
        return options
    }
}
