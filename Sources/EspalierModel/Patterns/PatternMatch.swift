// One text matched against the program of a MATCHES pattern: the text, the remaining steps, and assertions on
// positions.

/// The match exceeded the limit of steps.
struct PatternLimit: Error {
    let stepCountMax: Int
}

/// The match of one text against one pattern.
struct PatternMatch {
    /// The most instructions that the match of one text may visit: about a second.
    static let stepCountMax = 100_000_000
    /// The limit for backtracking, which keeps the way back in memory.
    static let backtrackingStepCountMax = 10_000_000

    /// The most paths on the list of paths to be tried later.
    static let laterCountMax = 1_000_000

    let program: PatternProgram
    let scalars: [Unicode.Scalar]
    private let stepCountMax: Int
    private var stepCount = 0
    /// For each lookbehind, whether a match of its group ends at each position; computed on first use.
    var lookbehindEnds: [[Bool]?]

    init(_ program: PatternProgram, _ text: String) {
        self.program = program
        scalars = Array(text.unicodeScalars)
        stepCountMax = program.needsBacktracking ? Self.backtrackingStepCountMax : Self.stepCountMax
        lookbehindEnds = Array(repeating: nil, count: program.lookbehindCount)
    }

    /// Whether the pattern matches the whole text.
    mutating func matchesWhole() throws(PatternLimit) -> Bool {
        program.needsBacktracking ? try tryWays() : try simulate()
    }

    /// Counts steps, and throws at the limit.
    @inline(__always)
    mutating func count(_ steps: Int = 1) throws(PatternLimit) {
        stepCount += steps
        if stepCount > stepCountMax { throw limit }
    }

    var limit: PatternLimit { PatternLimit(stepCountMax: stepCountMax) }

    func holds(_ assertion: PatternNode.Assertion, at position: Int) -> Bool {
        switch assertion {
        case .textStart: position == 0
        case .textEnd: position == scalars.count
        case .lastLineEnd:
            position == scalars.count || isLineEnd(position) && lineEndLength(position) == scalars.count - position
        case .lineStart: position == 0 || position < scalars.count && isLineStart(position)
        case .lineEnd: position == scalars.count || isLineEnd(position)
        case .wordEdge: isWordEdge(position)
        case .noWordEdge: !isWordEdge(position)
        }
    }

    /// Whether a line ends before `position`; carriage return and line feed are one line end.
    private func isLineStart(_ position: Int) -> Bool {
        scalars[position - 1].endsLine && !(scalars[position - 1] == "\r" && scalars[position] == "\n")
    }

    private func isLineEnd(_ position: Int) -> Bool {
        scalars[position].endsLine && !(scalars[position] == "\n" && position > 0 && scalars[position - 1] == "\r")
    }

    private func lineEndLength(_ position: Int) -> Int {
        scalars[position] == "\r" && position + 1 < scalars.count && scalars[position + 1] == "\n" ? 2 : 1
    }

    private func isWordEdge(_ position: Int) -> Bool {
        let before = position > 0 && scalars[position - 1].isWord
        return before != (position < scalars.count && scalars[position].isWord)
    }

    /// Whether an instruction that consumes one scalar consumes this one.
    @inline(__always)
    func takes(_ instruction: PatternProgram.Instruction, _ scalar: Unicode.Scalar) -> Bool {
        switch instruction {
        case .scalar(let expected): scalar == expected
        case .folded(let expected): scalar.foldedCase == expected
        case .any: true
        case .oneOf(let number): program.classes[number].contains(scalar)
        case .split, .jump, .assertion, .look, .save, .advanced, .atomic, .backReference, .match: false
        }
    }
}
