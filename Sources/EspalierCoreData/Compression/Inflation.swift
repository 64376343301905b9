// Decompresses DEFLATE (RFC 1951) without a header, which is how Core Data compresses the model in a store.
//
// Invariants
//   1. Any bytes give the decompressed bytes or an error; the output is at most as long as the caller allows.
//   2. Each step uses at least one bit of the input or makes one byte of the output, so decompression ends.

/// The bytes are not compressed as they should be.
package struct InflationError: Error, Equatable {
    /// The offset of the byte where the fault is.
    package let byteOffset: Int
    package let message: String
}

/// A decompression.
package struct Inflation {
    private let input: [UInt8]
    private let byteCountMax: Int
    private var place = 0
    /// Bits that were taken from the input and are not used yet, the next one in the lowest place.
    private var bits: UInt64 = 0
    private var bitCount = 0
    private var output: [UInt8] = []

    private init(_ input: [UInt8], _ byteCountMax: Int) { (self.input, self.byteCountMax) = (input, byteCountMax) }

    /// The decompressed bytes, at most `byteCountMax` of them.
    package static func inflate(_ input: [UInt8], byteCountMax: Int) throws(InflationError) -> [UInt8] {
        var inflation = Inflation(input, byteCountMax)
        try inflation.run()
        return inflation.output
    }

    private mutating func run() throws(InflationError) {
        var isLast = false
        while !isLast {
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try copyStored()
            case 1: try decode(Self.fixedLiterals, Self.fixedDistances)
            case 2:
                let (literals, distances) = try readCodes()
                try decode(literals, distances)
            default: throw error("a block has an unknown kind")
            }
        }
    }

    private func error(_ message: String) -> InflationError { InflationError(byteOffset: place, message: message) }

    // MARK: Bits

    private mutating func take(_ count: Int) throws(InflationError) -> Int {
        while bitCount < count {
            guard place < input.count else { throw error("the compressed bytes end too early") }
            bits |= UInt64(input[place]) << UInt64(bitCount)
            place += 1
            bitCount += 8
        }
        let value = Int(bits & (1 << UInt64(count) - 1))
        bits >>= UInt64(count)
        bitCount -= count
        return value
    }

    private mutating func symbol(_ code: PrefixCode) throws(InflationError) -> Int {
        var (value, first, index) = (0, 0, 0)
        for length in 1...PrefixCode.lengthMax {
            value |= try take(1)
            let count = code.counts[length]
            if value - first < count { return code.symbols[index + value - first] }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw error("a code does not exist")
    }

    // MARK: Blocks

    private mutating func copyStored() throws(InflationError) {
        // The block begins at a byte: bits of it were taken whole, so at most seven bits are left.
        _ = try take(bitCount & 7)
        let length = try take(16)
        guard try take(16) == ~length & 0xFFFF else { throw error("the two lengths of a stored block differ") }
        for _ in 0..<length { try append(UInt8(try take(8))) }
    }

    private mutating func append(_ byte: UInt8) throws(InflationError) {
        guard output.count < byteCountMax else {
            throw error("the decompressed data has more than \(byteCountMax) bytes")
        }
        output.append(byte)
    }

    private mutating func decode(_ literals: PrefixCode, _ distances: PrefixCode) throws(InflationError) {
        while true {
            let symbol = try symbol(literals)
            guard symbol != 256 else { return }
            guard symbol > 256 else {
                try append(UInt8(symbol))
                continue
            }
            guard symbol < 286 else { throw error("the length code \(symbol) does not exist") }
            let length = Self.lengthBases[symbol - 257] + (try take(Self.lengthBits[symbol - 257]))
            let code = try self.symbol(distances)
            guard code < 30 else { throw error("the distance code \(code) does not exist") }
            let distance = Self.distanceBases[code] + (try take(Self.distanceBits[code]))
            guard distance <= output.count else { throw error("a distance leads to a place before the beginning") }
            for _ in 0..<length { try append(output[output.count - distance]) }
        }
    }

    private mutating func readCodes() throws(InflationError) -> (literals: PrefixCode, distances: PrefixCode) {
        let (literalCount, distanceCount, lengthCount) = (try take(5) + 257, try take(5) + 1, try take(4) + 4)
        var order = [Int](repeating: 0, count: 19)
        for place in 0..<lengthCount { order[Self.codeOrder[place]] = try take(3) }
        let code = try prefixCode(order)
        var lengths: [Int] = []
        while lengths.count < literalCount + distanceCount {
            switch try symbol(code) {
            case 16:
                guard let last = lengths.last else { throw error("a repetition has no preceding length") }
                lengths += Array(repeating: last, count: 3 + (try take(2)))
            case 17: lengths += Array(repeating: 0, count: 3 + (try take(3)))
            case 18: lengths += Array(repeating: 0, count: 11 + (try take(7)))
            case let length: lengths.append(length)
            }
        }
        guard lengths.count == literalCount + distanceCount, lengths[256] > 0 else {
            throw error("the code has too many lengths, or lacks the end-of-block symbol")
        }
        return (try prefixCode(Array(lengths[..<literalCount])), try prefixCode(Array(lengths[literalCount...])))
    }

    private func prefixCode(_ lengths: [Int]) throws(InflationError) -> PrefixCode {
        guard let code = PrefixCode(lengths: lengths) else { throw error("too many codes have the same length") }
        return code
    }

    // MARK: Constants of the format

    private static let codeOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
    private static let lengthBits = [
        0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
    ]
    private static let lengthBases = [
        3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227,
        258,
    ]
    private static let distanceBits = (0..<30).map { max(0, $0 / 2 - 1) }
    private static let distanceBases = (0..<30).map { $0 < 2 ? $0 + 1 : (2 + $0 & 1) << ($0 / 2 - 1) + 1 }
    private static let fixedLiterals = PrefixCode(
        complete: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    private static let fixedDistances = PrefixCode(complete: Array(repeating: 5, count: 30))
}

/// A prefix code that is given by the lengths of its codes.
private struct PrefixCode {
    static let lengthMax = 15

    /// By length: the number of codes.
    let counts: [Int]
    /// The symbols in the order of their codes.
    let symbols: [Int]

    /// The code in which symbol n has a code of length n, 0 for none; `nil` if there are more codes than bits allow.
    init?(lengths: [Int]) {
        self.init(complete: lengths)
        var free = 1
        for count in counts.dropFirst() {
            free = 2 * free - count
            if free < 0 { return nil }
        }
    }

    /// The code with lengths that are known to be possible.
    init(complete lengths: [Int]) {
        var counts = [Int](repeating: 0, count: Self.lengthMax + 1)
        for length in lengths { counts[length] += 1 }
        counts[0] = 0
        self.counts = counts
        symbols = lengths.indices.filter { lengths[$0] > 0 }.sorted { (lengths[$0], $0) < (lengths[$1], $1) }
    }
}
