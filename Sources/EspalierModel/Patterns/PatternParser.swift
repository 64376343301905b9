// Parses the text of a MATCHES pattern in ICU syntax (Behaviour PR-07).
//
// Invariants
//   1. Any text gives a tree or an error with its position; each step advances.
//   2. Groups, sets and repeats are nested at most `nestingMax` deep; the text has at most `scalarCountMax` scalars.
//   3. `.` also matches a line break, and `^` and `$` match at every line, as a pattern of MATCHES does in Core Data;
//      `(?-s)` and `(?-m)` turn that off.
// Not here: sets (PatternParser+Class), escapes (PatternParser+Escape).

/// A pattern that cannot be parsed, and the reason.
struct InvalidPattern: Error {
    let pattern: String
    let reason: String
}

struct PatternParser {
    /// The flags that `(?imsx)` sets.
    struct Flags {
        var ignoresCase: Bool
        var dotIsAll = true
        var hasLines = true
        var skipsSpace = false
    }

    static let nestingMax = 50
    static let scalarCountMax = 20_000

    let scalars: [Unicode.Scalar]
    var position = 0
    var flags: Flags
    /// The number of capturing groups begun so far.
    private(set) var captureCount = 0
    private var captureNames: [String: Int] = [:]
    private var depth = 0
    private let text: String

    init(_ text: String, ignoresCase: Bool) throws(InvalidPattern) {
        self.text = text
        scalars = Array(text.unicodeScalars)
        flags = Flags(ignoresCase: ignoresCase)
        guard scalars.count <= Self.scalarCountMax else {
            let start = String(text.prefix(60)) + "…"
            let reason = "it has \(scalars.count) scalars; at most \(Self.scalarCountMax) are allowed"
            throw InvalidPattern(pattern: start, reason: reason)
        }
    }

    /// Parses the whole text.
    mutating func parse() throws(InvalidPattern) -> PatternNode {
        let node = try choice()
        if peek() != nil { throw error("')' has no '('") }
        return node
    }

    // MARK: Scalars

    func peek(_ offset: Int = 0) -> Unicode.Scalar? {
        position + offset < scalars.count ? scalars[position + offset] : nil
    }

    /// Moves past `expected`, a few scalars, if they are next.
    mutating func skip(_ expected: String) -> Bool {
        var offset = 0
        for scalar in expected.unicodeScalars {
            guard peek(offset) == scalar else { return false }
            offset += 1
        }
        position += offset
        return true
    }

    func error(_ problem: String) -> InvalidPattern {
        InvalidPattern(pattern: text, reason: "\(problem), at position \(position + 1)")
    }

    /// Calls `body` one level deeper; throws at the limit of nesting.
    mutating func deeper<R>(
        _ body: (inout PatternParser) throws(InvalidPattern) -> R
    ) throws(InvalidPattern) -> R {
        guard depth < Self.nestingMax else { throw error("nested more than \(Self.nestingMax) levels deep") }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    // MARK: Structure

    private mutating func choice() throws(InvalidPattern) -> PatternNode {
        var branches = [try sequence()]
        while skip("|") { branches.append(try sequence()) }
        return branches.count == 1 ? branches[0] : .choice(branches)
    }

    private mutating func sequence() throws(InvalidPattern) -> PatternNode {
        var nodes: [PatternNode] = []
        while let next = peek(), next != "|", next != ")" {
            if flags.skipsSpace, next.properties.isWhitespace {
                position += 1
            } else if flags.skipsSpace, next == "#" {
                while let scalar = peek(), !scalar.endsLine { position += 1 }
            } else if skip("\\Q") {
                while peek() != nil, !skip("\\E") {
                    nodes.append(literal(scalars[position]))
                    position += 1
                }
                if let last = nodes.popLast() { nodes.append(try quantified(last)) }
            } else if let node = try atom() {
                nodes.append(try quantified(node))
            }
        }
        return nodes.count == 1 ? nodes[0] : .sequence(nodes)
    }

    func literal(_ scalar: Unicode.Scalar) -> PatternNode {
        .scalars(.scalar(scalar), ignoresCase: flags.ignoresCase)
    }

    /// The next node; `nil` for a comment or a change of flags.
    private mutating func atom() throws(InvalidPattern) -> PatternNode? {
        let start = position
        let scalar = scalars[position]
        position += 1
        switch scalar {
        case "(": return try deeper { (parser) throws(InvalidPattern) in try parser.group() }
        case "[": return .scalars(try bracket(), ignoresCase: flags.ignoresCase)
        case "\\": return try escape()
        case ".": return .scalars(flags.dotIsAll ? .all : .complement(.lineEnd), ignoresCase: false)
        case "^": return .assertion(flags.hasLines ? .lineStart : .textStart)
        case "$": return .assertion(flags.hasLines ? .lineEnd : .lastLineEnd)
        case "*", "+", "?":
            position = start
            throw error("'\(Character(scalar))' has nothing to repeat")
        case "{":
            position = start
            throw error("'{' has nothing to repeat; write \\{ for the character")
        default: return literal(scalar)
        }
    }

    /// A group; the position is after its opening parenthesis.
    private mutating func group() throws(InvalidPattern) -> PatternNode? {
        let start = position - 1
        guard skip("?") else {
            captureCount += 1
            return try captured(captureCount, from: start)
        }
        if skip("#") {
            while let scalar = peek(), scalar != ")" { position += 1 }
            try end(from: start)
            return nil
        }
        if skip(":") { return try inner(from: start) }
        if skip(">") { return .atomic(try inner(from: start)) }
        if skip("=") { return .look(try inner(from: start), isAhead: true, isNegative: false) }
        if skip("!") { return .look(try inner(from: start), isAhead: true, isNegative: true) }
        if skip("<=") { return .look(try inner(from: start), isAhead: false, isNegative: false) }
        if skip("<!") { return .look(try inner(from: start), isAhead: false, isNegative: true) }
        if skip("P<") || skip("<") {
            let name = try name(until: ">")
            captureCount += 1
            captureNames[name] = captureCount
            return try captured(captureCount, from: start)
        }
        return try switched(from: start)
    }

    private mutating func captured(_ number: Int, from start: Int) throws(InvalidPattern) -> PatternNode {
        .capture(try inner(from: start), number: number)
    }

    /// The content of a group with its closing parenthesis; flags that it changes apply to the group only.
    private mutating func inner(from start: Int) throws(InvalidPattern) -> PatternNode {
        let outer = flags
        let node = try choice()
        try end(from: start)
        flags = outer
        return node
    }

    private mutating func end(from start: Int) throws(InvalidPattern) {
        guard skip(")") else {
            position = start
            throw error("'(' has no ')'")
        }
    }

    /// `(?i)`, which applies to the end of the enclosing group, or `(?i:…)`.
    private mutating func switched(from start: Int) throws(InvalidPattern) -> PatternNode? {
        let outer = flags
        var isOn = true
        while let scalar = peek() {
            position += 1
            switch scalar {
            case "i": flags.ignoresCase = isOn
            case "m": flags.hasLines = isOn
            case "s": flags.dotIsAll = isOn
            case "x": flags.skipsSpace = isOn
            case "-": isOn = false
            case ")": return nil
            case ":":
                let node = try inner(from: start)
                flags = outer
                return node
            default:
                position -= 1
                throw error(
                    "'(?\(Character(scalar))' begins nothing; known are (?: (?= (?! (?<= (?<! (?> (?<name> (?i)")
            }
        }
        position = start
        throw error("'(' has no ')'")
    }

    mutating func name(until close: Unicode.Scalar) throws(InvalidPattern) -> String {
        var name = ""
        while let scalar = peek(), scalar != close {
            guard scalar.isASCII, scalar.isWord, !(name.isEmpty && scalar.isDigit) else { break }
            name.unicodeScalars.append(scalar)
            position += 1
        }
        guard peek() == close, !name.isEmpty else {
            throw error("the name of a group must consist of letters and digits")
        }
        position += 1
        return name
    }

    /// The number of the group called `name`.
    func captureNumber(_ name: String) -> Int? { captureNames[name] }

    // MARK: Repeats

    private mutating func quantified(_ node: PatternNode) throws(InvalidPattern) -> PatternNode {
        guard let (min, max) = try counts() else { return node }
        // A further quantifier would have nothing to repeat; `atom` reports it.
        let preference: PatternNode.Preference = skip("?") ? .lazy : skip("+") ? .possessive : .greedy
        return .repeated(node, min: min, max: max, preference)
    }

    /// The counts of a repeat, if one is next.
    private mutating func counts() throws(InvalidPattern) -> (min: Int, max: Int?)? {
        if skip("*") { return (0, nil) }
        if skip("+") { return (1, nil) }
        if skip("?") { return (0, 1) }
        let start = position
        guard skip("{") else { return nil }
        guard let min = number() else {
            position = start
            throw error("no number follows '{'; write \\{ for the character")
        }
        let hasComma = skip(",")
        let max = hasComma ? number() : min
        guard skip("}") else {
            position = start
            throw error("'{' has no '}'")
        }
        if let max, max < min {
            position = start
            throw error("a repeat from \(min) to \(max) times is impossible")
        }
        return (min, max)
    }

    /// A whole number; a number beyond the limit of instructions becomes the limit plus one.
    private mutating func number() -> Int? {
        var value: Int?
        while let scalar = peek(), scalar.isDigit {
            value = Swift.min((value ?? 0) * 10 + Int(scalar.value - 48), PatternProgram.instructionCountMax + 1)
            position += 1
        }
        return value
    }
}
