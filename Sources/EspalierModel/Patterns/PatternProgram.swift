// A MATCHES pattern compiled to a program of instructions.
//
// Invariants
//   1. Every target is an instruction; each part of a pattern that is matched separately ends with `match`.
//   2. A program has at most `instructionCountMax` instructions, even if its pattern has nested repeats.
//   3. Without back-references, atomic groups and possessive repeats all paths through the program are followed at once
//      (PatternSimulation), in time O(text x program); with them one after the other (PatternBacktracking).

/// The instructions of a pattern.
struct PatternProgram: Sendable {
    enum Instruction: Sendable {
        /// Consumes this scalar.
        case scalar(Unicode.Scalar)
        /// Consumes one scalar that equals this one except for case.
        case folded(Unicode.Scalar)
        /// Consumes any scalar.
        case any
        /// Consumes one scalar of the set with this number.
        case oneOf(Int)
        /// Continues at both instructions; at the first one first.
        case split(Int, Int)
        case jump(Int)
        case assertion(PatternNode.Assertion)
        /// Continues if the part two instructions ahead matches (or does not match) after or before the position;
        /// `number` is the index of a lookbehind.
        case look(isAhead: Bool, isNegative: Bool, number: Int)
        /// Stores the position in the register with this number.
        case save(Int)
        /// Continues only if the position differs from the register: an empty repeat is not repeated.
        case advanced(Int)
        /// Consumes the text of the first match of the part two instructions ahead.
        case atomic
        case backReference(Int, ignoresCase: Bool)
        case match
    }

    /// The most instructions of a program.
    static let instructionCountMax = 10_000
    /// The most lookbehinds of a program.
    static let lookbehindCountMax = 20

    private(set) var instructions: [Instruction] = []
    private(set) var classes: [ScalarTest] = []
    private(set) var registerCount: Int
    private(set) var lookbehindCount = 0
    /// Whether paths have to be tried one after the other.
    private(set) var needsBacktracking = false

    init(_ pattern: String, ignoresCase: Bool) throws(InvalidPattern) {
        var parser = try PatternParser(pattern, ignoresCase: ignoresCase)
        let root = try parser.parse()
        registerCount = 2 * (parser.captureCount + 1)
        do {
            try emit(root)
            try add(.match)
        } catch {
            throw InvalidPattern(pattern: pattern, reason: error.reason)
        }
    }

    private struct TooLarge: Error {
        let reason: String
    }

    private var next: Int { instructions.count }

    private mutating func add(_ instruction: Instruction) throws(TooLarge) {
        guard instructions.count < Self.instructionCountMax else {
            throw TooLarge(
                reason: "it has more than \(Self.instructionCountMax) steps when its repeats are written out")
        }
        instructions.append(instruction)
    }

    private mutating func emit(_ node: PatternNode) throws(TooLarge) {
        switch node {
        case .scalars(let set, let ignoresCase): try emit(set, ignoresCase: ignoresCase)
        case .sequence(let nodes): for node in nodes { try emit(node) }
        case .choice(let branches): try emit(choice: branches)
        case .repeated(let body, let min, let max, let preference):
            if preference == .possessive {
                try emitApart(.atomic) { (program) throws(TooLarge) in try program.emit(body, min, max, .greedy) }
                needsBacktracking = true
            } else {
                try emit(body, min, max, preference)
            }
        case .capture(let body, let number):
            try add(.save(2 * number))
            try emit(body)
            try add(.save(2 * number + 1))
        case .assertion(let assertion): try add(.assertion(assertion))
        case .look(let body, let isAhead, let isNegative):
            if !isAhead { lookbehindCount += 1 }
            guard lookbehindCount <= Self.lookbehindCountMax else {
                throw TooLarge(reason: "it looks back more than \(Self.lookbehindCountMax) times")
            }
            let look = Instruction.look(isAhead: isAhead, isNegative: isNegative, number: lookbehindCount - 1)
            try emitApart(look) { (program) throws(TooLarge) in try program.emit(body) }
        case .atomic(let body):
            try emitApart(.atomic) { (program) throws(TooLarge) in try program.emit(body) }
            needsBacktracking = true
        case .backReference(let number, let ignoresCase):
            try add(.backReference(number, ignoresCase: ignoresCase))
            needsBacktracking = true
        }
    }

    private mutating func emit(_ set: ScalarClass, ignoresCase: Bool) throws(TooLarge) {
        switch set {
        case .all: try add(.any)
        case .range(let range) where range.count == 1:
            guard let scalar = Unicode.Scalar(range.lowerBound) else { return }
            try add(ignoresCase ? .folded(scalar.foldedCase) : .scalar(scalar))
        default:
            classes.append(ScalarTest(set, ignoresCase: ignoresCase))
            try add(.oneOf(classes.count - 1))
        }
    }

    private mutating func emit(choice branches: [PatternNode]) throws(TooLarge) {
        var ends: [Int] = []
        for (position, branch) in branches.enumerated() {
            guard position < branches.count - 1 else {
                try emit(branch)
                break
            }
            let split = next
            try add(.split(split + 1, 0))
            try emit(branch)
            ends.append(next)
            try add(.jump(0))
            instructions[split] = .split(split + 1, next)
        }
        for end in ends { instructions[end] = .jump(next) }
    }

    private mutating func emit(
        _ body: PatternNode, _ min: Int, _ max: Int?, _ preference: PatternNode.Preference
    ) throws(TooLarge) {
        let isLazy = preference == .lazy
        for _ in 0..<min {
            let start = next
            try emit(body)
            // A body without instructions stays empty when it is repeated.
            if next == start { return }
        }
        guard let max else {
            let loop = next
            let register = registerCount
            registerCount += 1
            try add(.split(0, 0))
            try add(.save(register))
            try emit(body)
            try add(.advanced(register))
            try add(.jump(loop))
            instructions[loop] = isLazy ? .split(next, loop + 1) : .split(loop + 1, next)
            return
        }
        var splits: [Int] = []
        for _ in 0..<Swift.max(0, max - min) {
            splits.append(next)
            try add(.split(0, 0))
            let start = next
            try emit(body)
            if next == start { break }
        }
        for split in splits { instructions[split] = isLazy ? .split(next, split + 1) : .split(split + 1, next) }
    }

    /// Emits a part that is matched separately: the instruction, a jump across the part, and the part with its own
    /// `match`.
    private mutating func emitApart(
        _ instruction: Instruction, _ body: (inout PatternProgram) throws(TooLarge) -> Void
    ) throws(TooLarge) {
        try add(instruction)
        let jump = next
        try add(.jump(0))
        try body(&self)
        try add(.match)
        instructions[jump] = .jump(next)
    }
}

/// A set of scalars with precomputed answers for ASCII.
struct ScalarTest: Sendable {
    private var ascii: (UInt64, UInt64) = (0, 0)
    private let set: ScalarClass
    private let ignoresCase: Bool

    init(_ set: ScalarClass, ignoresCase: Bool) {
        (self.set, self.ignoresCase) = (set, ignoresCase)
        for value in 0..<UInt8(128) where set.contains(Unicode.Scalar(value), ignoresCase: ignoresCase) {
            if value < 64 { ascii.0 |= 1 << UInt64(value) } else { ascii.1 |= 1 << UInt64(value - 64) }
        }
    }

    func contains(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 64 { return ascii.0 & (1 << UInt64(scalar.value)) != 0 }
        if scalar.value < 128 { return ascii.1 & (1 << UInt64(scalar.value - 64)) != 0 }
        return set.contains(scalar, ignoresCase: ignoresCase)
    }
}
