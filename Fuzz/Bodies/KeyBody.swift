// The body whose bytes are normalized keys and tagged values.
//
// Layout of the bytes: 0 attribute type | 1 options | the code of a value, or two tagged values.
//
// Promises
//   1. Any bytes give a value or nil.
//   2. A value is encoded as a key that is read as an equal value; keys have the order of their values, in both
//      directions.
//   3. A tagged value is read as the value that was written.

import EspalierModel
import EspalierStore
import FoundationEssentials

extension FuzzBody {
    /// The bytes are normalized keys and tagged values.
    public static let key = FuzzBody(
        name: "key",
        seeds: {
            var seeds: [String: [UInt8]] = [:]
            for (name, value) in FuzzModel.albumValues {
                var tagged: [UInt8] = []
                TaggedValue.append(value, to: &tagged)
                seeds["tagged-\(name)"] = [0, 0] + tagged + tagged
                guard let place = keyTypes.firstIndex(where: { $0.rawValue == tagged.typeNumber }) else { continue }
                var code: [UInt8] = []
                KeyCoding.append(value, as: keyTypes[place], to: &code)
                seeds["code-\(name)"] = [UInt8(place), 0] + code
            }
            return seeds
        },
        run: { bytes in
            var input = FuzzInput(bytes)
            let type = keyTypes[input.number(below: keyTypes.count)]
            let options = FetchPredicate.Comparison.Options(rawValue: input.byte() & 7)
            let content = Array(bytes.dropFirst(2))
            let ascending = checkCode(content, type, isAscending: true)
            let descending = checkCode(content.map { ~$0 }, type, isAscending: false)
            precondition(ascending == descending, "a descending code and an ascending one are read differently")
            var reader = KeyReader(content)
            _ = reader.nextReference()
            checkTagged(content, options)
        })

    private static let keyTypes: [AttributeType] = [
        .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binary, .uuid, .uri,
        .transformable, .composite,
    ]

    /// Reads a code and writes it again; returns whether the bytes are a code.
    private static func checkCode(_ bytes: [UInt8], _ type: AttributeType, isAscending: Bool) -> Bool {
        var reader = KeyReader(bytes)
        guard let value = reader.next(as: type, isAscending: isAscending) else { return false }
        precondition(reader.offset <= bytes.count)
        let code = code(value, type, isAscending: isAscending)
        var again = KeyReader(code)
        guard let found = again.next(as: type, isAscending: isAscending) else {
            preconditionFailure("the code of \(value) cannot be read")
        }
        precondition(again.offset == code.count && isSame(found, value), "\(value) is read as \(found)")
        return true
    }

    /// Reads the bytes and their halves as tagged values, and requires the codes of the halves to order as the values
    /// do.
    private static func checkTagged(_ bytes: [UInt8], _ options: FetchPredicate.Comparison.Options) {
        let halves = [Array(bytes.prefix(bytes.count / 2)), Array(bytes.dropFirst(bytes.count / 2))]
        let values = ([bytes] + halves).compactMap { TaggedValue.decode($0) }
        for value in values {
            var tagged: [UInt8] = []
            TaggedValue.append(value, to: &tagged)
            guard let found = TaggedValue.decode(tagged) else { preconditionFailure("\(value) cannot be read again") }
            precondition(isSame(found, value), "\(value) is read as \(found)")
        }
        guard values.count == 2, let type = keyTypes.first(where: { $0.rawValue == halves[0].typeNumber }),
            type != .composite, halves[1].typeNumber == type.rawValue
        else { return }
        for isAscending in [true, false] {
            let codes = values.map { code($0, type, options, isAscending: isAscending) }
            let order = values[isAscending ? 0 : 1].compare(values[isAscending ? 1 : 0], options: options)
            let found: ComparisonResult =
                codes[0] == codes[1]
                ? .orderedSame
                : codes[0].lexicographicallyPrecedes(codes[1]) ? .orderedAscending : .orderedDescending
            precondition(found == order, "\(values[0]) and \(values[1]) and their codes have different orders")
        }
    }

    private static func code(
        _ value: AttributeValue, _ type: AttributeType, _ options: FetchPredicate.Comparison.Options = [],
        isAscending: Bool
    ) -> [UInt8] {
        var code: [UInt8] = []
        KeyCoding.append(value, as: type, options: options, isAscending: isAscending, to: &code)
        return code
    }

    /// Whether two values are the same; not-a-number equals itself.
    private static func isSame(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
        left.compare(right) == .orderedSame
    }
}

extension [UInt8] {
    /// The type number at the beginning of a tagged value.
    fileprivate var typeNumber: UInt16? { count > 1 ? UInt16(self[0]) | UInt16(self[1]) << 8 : nil }
}
