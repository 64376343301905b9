// The order of key bytes, compared with the order of values.

import EspalierModel
import EspalierStore
import Foundation
import TestSupport
import Testing

@Suite struct KeyCodingTests {
    private static let types: [AttributeType] = [
        .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binary, .uuid, .uri,
        .transformable,
    ]

    @Test(arguments: types) func `bytes order as values do, in both directions`(type: AttributeType) {
        let seed = testSeed(default: 41)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<campaignCount("ESPALIER_KEY_PAIRS", default: 3000) {
            let pair = [0, 1].map { _ in random.oneIn(12) ? .null : random.value(of: type) }
            let order = pair[0].compare(pair[1])

            #expect(byteOrder(pair, type, isAscending: true) == order, "\(pair), seed \(seed)")
            #expect(byteOrder(pair, type, isAscending: false) == order.opposite, "\(pair) descending, seed \(seed)")
        }
    }

    @Test func `numbers of all types order together, as comparisons without rounding do (FR-25)`() {
        let seed = testSeed(default: 47)
        var random = SeededGenerator(seed: seed)
        let types: [AttributeType] = [.integer16, .integer64, .decimal, .double, .float]
        let edges: [AttributeValue] = [
            .integer(1 << 53), .integer(1 << 53 + 1), .integer(1 << 53 - 1), .double(0x1p53), .integer(.max),
            .double(0x1p63), .integer(.min), .double(-0x1p63), .integer(-(1 << 53) - 1), .double(-0x1p53),
            .double(0.1), .float(0.1), .decimal(Decimal(1) / 10), .decimal(-Decimal(1) / 10), .double(-0.1),
            .decimal(.nan), .double(.nan), .double(.infinity), .double(-.infinity), .decimal(5), .integer(5),
            .float(5), .double(-0.0), .decimal(0), .null,
        ]
        func number() -> AttributeValue { random.oneIn(2) ? random.pick(edges) : random.value(of: random.pick(types)) }
        for _ in 0..<campaignCount("ESPALIER_KEY_PAIRS", default: 3000) {
            let pair = [number(), number()]
            let order = pair[0].compare(pair[1])

            #expect(byteOrder(pair, .undefined, isAscending: true) == order, "\(pair), seed \(seed)")
            #expect(byteOrder(pair, .undefined, isAscending: false) == order.opposite, "\(pair), seed \(seed)")
            let isAscending = random.oneIn(2)
            let code = key([pair[0], .boolean(true)], [.undefined, .boolean], [isAscending, true])
            var reader = KeyReader(code)
            let decoded = reader.next(as: .undefined, isAscending: isAscending)
            #expect(decoded?.compare(pair[0]) == .orderedSame, "\(pair[0]), seed \(seed)")
            #expect(reader.isFaithful == pair[0].isNull, "\(pair[0]), seed \(seed)")
            let following = reader.next(as: .boolean)
            #expect(following == .boolean(true), "\(pair[0]), seed \(seed)")
        }
    }

    @Test func `folded text orders as folded comparison does`() {
        let seed = testSeed(default: 42)
        var random = SeededGenerator(seed: seed)
        let all: [FetchPredicate.Comparison.Options] = [
            .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized,
        ]
        for _ in 0..<4000 {
            let pair = [random.value(of: .string), random.value(of: .string)]
            let options = random.pick(all)

            let order = pair[0].compare(pair[1], options: options)

            #expect(byteOrder(pair, .string, options: options, isAscending: true) == order, "\(pair), seed \(seed)")
        }
    }

    @Test func `compound keys order by the first value, then the second`() {
        let seed = testSeed(default: 43)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<4000 {
            let types = [random.pick(Self.types), random.pick(Self.types)]
            let isAscending = [random.oneIn(2), random.oneIn(2)]
            let left = types.map { random.oneIn(6) ? .null : random.value(of: $0) }
            // The second value counts only if the first ones are equal.
            let right = [random.oneIn(2) ? left[0] : random.value(of: types[0]), random.value(of: types[1])]

            var expected = ComparisonResult.orderedSame
            for index in [0, 1] where expected == .orderedSame {
                let order = left[index].compare(right[index])
                expected = isAscending[index] ? order : order.opposite
            }

            #expect(
                compare(key(left, types, isAscending), key(right, types, isAscending)) == expected,
                "\(left) \(right), seed \(seed)")
        }
    }

    @Test(arguments: types) func `a decoded key is the value that was encoded`(type: AttributeType) {
        let seed = testSeed(default: 44)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<1000 {
            let value = random.oneIn(12) ? .null : random.value(of: type)
            let isAscending = random.oneIn(2)

            var reader = KeyReader(key([value], [type], [isAscending]))
            let decoded = reader.next(as: type, isAscending: isAscending)

            #expect(decoded?.compare(value) == .orderedSame, "\(value), seed \(seed)")
        }
    }

    @Test(arguments: types) func `a decoded value whose code no other value has is the same, bit for bit`(
        type: AttributeType
    ) {
        let seed = testSeed(default: 47)
        var random = SeededGenerator(seed: seed)
        let isAlwaysExact: Set<AttributeType> = [
            .integer16, .integer32, .integer64, .boolean, .uuid, .binary, .transformable,
        ]
        var exactCount = 0
        for _ in 0..<campaignCount("ESPALIER_KEY_PAIRS", default: 1000) {
            let value = random.oneIn(12) ? .null : random.value(of: type)
            let isAscending = random.oneIn(2)

            var reader = KeyReader(key([value], [type], [isAscending]))
            let decoded = reader.next(as: type, isAscending: isAscending) ?? .null

            guard reader.isFaithful else {
                #expect(!value.isNull && !isAlwaysExact.contains(type), "\(value), seed \(seed)")
                continue
            }
            if !value.isNull { exactCount += 1 }
            #expect(bits(decoded) == bits(value), "\(value) is read as \(decoded), seed \(seed)")
        }
        #expect((exactCount > 0) == (type != .decimal), "\(exactCount) values are exact, seed \(seed)")
    }

    @Test func `a code that several values have is not exact`() {
        let shared: [(AttributeType, [AttributeValue])] = [
            (.double, [.double(0), .double(-0.0)]), (.double, [.double(.nan), .double(.signalingNaN)]),
            (.float, [.float(0), .float(-0.0)]), (.date, [.date(Date(timeIntervalSinceReferenceDate: -0.0))]),
            (.string, [.string("é"), .string("e\u{301}")]), (.string, [.string("K"), .string("\u{212A}")]),
            (.decimal, [.decimal(5), .decimal(Decimal(sign: .plus, exponent: -1, significand: 50))]),
        ]
        for (type, values) in shared {
            let keys = values.map { key([$0], [type], [true]) }
            #expect(Set(keys).count == 1, "\(values)")
            var reader = KeyReader(keys[0])
            let decoded = reader.next(as: type)
            #expect(decoded != nil && !reader.isFaithful, "\(values)")
        }
    }

    @Test func `a text that is no URI reads as null, as in a row, and is not exact`() {
        let code = key([.string("")], [.string], [true])
        var reader = KeyReader(code)

        let value = reader.next(as: .uri)

        #expect(value == .null)
        #expect(!reader.isFaithful && reader.offset == code.count)
    }

    @Test func `references order by entity, then key, and decode`() throws {
        let references: [(entity: UInt16, key: UInt64)?] = [nil, (1, 1), (1, 256), (2, 1), (300, 0)]
        for isAscending in [true, false] {
            let keys = references.map { reference in
                var key: [UInt8] = []
                KeyCoding.append(reference: reference, isAscending: isAscending, to: &key)
                return key
            }
            let ordered = isAscending ? keys : keys.reversed()
            for index in ordered.indices.dropFirst() {
                #expect(ordered[index - 1].lexicographicallyPrecedes(ordered[index]))
            }
            for (key, reference) in zip(keys, references) {
                var reader = KeyReader(key)
                let read = reader.nextReference(isAscending: isAscending)
                let decoded = try #require(read)
                #expect(decoded?.entity == reference?.entity && decoded?.key == reference?.key)
            }
        }
    }

    @Test func `a key that ends too early is no value`() {
        for type in Self.types {
            var random = SeededGenerator(seed: 45)
            let whole = key([random.value(of: type)], [type], [true])
            for count in 0..<whole.count {
                var reader = KeyReader(Array(whole.prefix(count)))
                #expect(reader.next(as: type) == nil, "\(type), \(count) of \(whole.count) bytes")
            }
        }
    }

    @Test func `a text prefix stands before all texts that begin with it and no others`() {
        let seed = testSeed(default: 46)
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            guard case .string(let text) = random.value(of: .string),
                case .string(let prefix) = random.value(of: .string)
            else { continue }
            var start: [UInt8] = []
            KeyCoding.append(textPrefix: prefix, to: &start)

            let begins = key([.string(text)], [.string], [true]).starts(with: start)

            let bytes = (TextFolding.composed(text).utf8, TextFolding.composed(prefix).utf8)
            #expect(begins == bytes.0.starts(with: bytes.1), "\(text) \(prefix), seed \(seed)")
        }
    }

    private func bits(_ value: AttributeValue) -> [UInt8] {
        var bytes: [UInt8] = []
        TaggedValue.append(value, to: &bytes)
        return bytes
    }

    private func key(_ values: [AttributeValue], _ types: [AttributeType], _ isAscending: [Bool]) -> [UInt8] {
        var key: [UInt8] = []
        for index in values.indices {
            KeyCoding.append(values[index], as: types[index], isAscending: isAscending[index], to: &key)
        }
        return key
    }

    private func byteOrder(
        _ pair: [AttributeValue], _ type: AttributeType, options: FetchPredicate.Comparison.Options = [],
        isAscending: Bool
    ) -> ComparisonResult {
        let keys = pair.map { value in
            var key: [UInt8] = []
            KeyCoding.append(value, as: type, options: options, isAscending: isAscending, to: &key)
            return key
        }
        return compare(keys[0], keys[1])
    }

    private func compare(_ left: [UInt8], _ right: [UInt8]) -> ComparisonResult {
        if left.lexicographicallyPrecedes(right) { return .orderedAscending }
        return left == right ? .orderedSame : .orderedDescending
    }
}

extension ComparisonResult {
    fileprivate var opposite: ComparisonResult {
        switch self {
        case .orderedAscending: .orderedDescending
        case .orderedSame: .orderedSame
        case .orderedDescending: .orderedAscending
        }
    }
}
