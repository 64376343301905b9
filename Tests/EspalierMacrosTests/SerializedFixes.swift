// The fixes in the diagnostics that the compiler serializes for other tools: an LLVM bitstream, read as far as fixes
// need it.
//
// Invariants
//   1. Bytes that are no such stream have no fixes: the tests then miss what they expect.

/// A change of a source text, in bytes.
struct SourceFix: Equatable {
    let offset: Int
    let end: Int
    let text: [UInt8]
}

/// Reads the fixes of the first file in serialized diagnostics.
struct SerializedFixes {
    /// One operand of an abbreviation.
    private enum Operand {
        case literal(Int)
        case fixed(Int)
        case variable(Int)
        case array
        case character
        case blob
    }

    /// The block of one diagnostic, and its record of a fix.
    private static let (diagnosticBlock, fixRecord) = (9, 7)

    private let bytes: [UInt8]
    private var position = 32
    private var known: [Int: [[Operand]]] = [:]
    private(set) var fixes: [SourceFix] = []

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        guard bytes.starts(with: "DIAG".utf8) else { return }
        readBlock(-1, width: 2, end: bytes.count * 8)
    }

    private mutating func bits(_ count: Int) -> Int {
        var value = 0
        for index in 0..<count where position >> 3 < bytes.count {
            value |= Int(bytes[position >> 3] >> UInt8(position & 7) & 1) << index
            position += 1
        }
        return value
    }

    /// A number in groups of `width` bits, whose highest bit says that another group follows.
    private mutating func number(_ width: Int) -> Int {
        var (value, shift) = (0, 0)
        while true {
            let group = bits(width)
            value |= (group & ((1 << (width - 1)) - 1)) << shift
            if group >> (width - 1) == 0 || shift > 56 { return value }
            shift += width - 1
        }
    }

    private mutating func align() { position = (position + 31) / 32 * 32 }

    private mutating func readBlock(_ block: Int, width: Int, end: Int) {
        var abbreviations = known[block] ?? []
        var described = 0
        while position < end {
            switch bits(width) {
            case 0: return align()
            case 1:
                let (inner, innerWidth) = (number(8), number(4))
                align()
                let size = bits(32) * 32
                readBlock(inner, width: innerWidth, end: position + size)
            case 2:
                let abbreviation = readAbbreviation()
                if block == 0 {
                    known[described, default: []].append(abbreviation)
                } else {
                    abbreviations.append(abbreviation)
                }
            case 3:
                let (code, count) = (number(6), number(6))
                let values = (0..<count).map { _ in number(6) }
                if block == 0, code == 1 { described = values.first ?? 0 }
            case let index where index - 4 < abbreviations.count:
                readRecord(abbreviations[index - 4], isFix: block == Self.diagnosticBlock)
            default: return
            }
        }
    }

    private mutating func readAbbreviation() -> [Operand] {
        (0..<number(5)).map { _ in
            if bits(1) == 1 { return .literal(number(8)) }
            switch bits(3) {
            case 1: return .fixed(number(5))
            case 2: return .variable(number(5))
            case 3: return .array
            case 4: return .character
            default: return .blob
            }
        }
    }

    private mutating func scalar(_ operand: Operand) -> Int {
        switch operand {
        case .literal(let value): value
        case .fixed(let width): bits(width)
        case .variable(let width): number(width)
        case .character: bits(6)
        case .array, .blob: 0
        }
    }

    /// Reads a record; one of a fix is: code, then file, line, column and offset of start and end, then the text.
    private mutating func readRecord(_ operands: [Operand], isFix: Bool) {
        var values: [Int] = []
        var text: [UInt8] = []
        var index = 0
        while index < operands.count {
            switch operands[index] {
            case .array:
                let count = number(6)
                index += 1
                for _ in 0..<count where index < operands.count { values.append(scalar(operands[index])) }
            case .blob:
                let count = number(6)
                align()
                let start = min(position >> 3, bytes.count)
                text = Array(bytes[start..<min(start + count, bytes.count)])
                position += count * 8
                align()
            default: values.append(scalar(operands[index]))
            }
            index += 1
        }
        guard isFix, values.count >= 9, values[0] == Self.fixRecord, values[1] == 1 else { return }
        fixes.append(SourceFix(offset: values[4], end: values[8], text: text))
    }
}
