// Parses sets in brackets: `[a-z]`, `[^…]`, nested sets, `&&`, `--` and `[:alpha:]`.

extension PatternParser {
    /// A set; the position is after its opening bracket.
    mutating func bracket() throws(InvalidPattern) -> ScalarClass {
        try deeper { (parser) throws(InvalidPattern) in try parser.content() }
    }

    private mutating func content() throws(InvalidPattern) -> ScalarClass {
        let start = position - 1
        if let named = try named() { return named }
        let isComplement = skip("^")
        var parts: [ScalarClass] = []
        // The set before `&&` or `--`, and which of the two it was.
        var before: (set: ScalarClass, isIntersection: Bool)?
        func joined() -> ScalarClass {
            let set: ScalarClass = parts.count == 1 ? parts[0] : .union(parts)
            guard let before else { return set }
            return before.isIntersection ? .intersection(before.set, set) : .difference(before.set, set)
        }
        var (isFirst, operatorCount) = (true, 0)
        while let scalar = peek() {
            if scalar == "]", !isFirst {
                position += 1
                return isComplement ? .complement(joined()) : joined()
            }
            isFirst = false
            if peek(1) == scalar, scalar == "&" || scalar == "-", !parts.isEmpty {
                // Each operator adds a level to the set.
                operatorCount += 1
                guard operatorCount <= Self.nestingMax else { throw error("more than \(Self.nestingMax) operators") }
                position += 2
                before = (joined(), scalar == "&")
                parts = []
                continue
            }
            parts.append(try member())
        }
        position = start
        throw error("'[' has no ']'")
    }

    /// One scalar, a range, or a nested set.
    private mutating func member() throws(InvalidPattern) -> ScalarClass {
        let first = try single()
        guard case .range(let low) = first, low.count == 1, peek() == "-", let next = peek(1), next != "]", next != "-"
        else { return first }
        position += 1
        guard case .range(let high) = try single(), high.count == 1 else { throw error("a range has no end") }
        guard low.lowerBound <= high.lowerBound else { throw error("a range ends before it begins") }
        return .range(low.lowerBound...high.lowerBound)
    }

    private mutating func single() throws(InvalidPattern) -> ScalarClass {
        guard let scalar = peek() else { throw error("'[' has no ']'") }
        position += 1
        switch scalar {
        case "[": return try bracket()
        case "\\":
            if skip("b") { return .scalar("\u{8}") }
            return try escapedClass()
        default: return .scalar(scalar)
        }
    }

    /// `[:alpha:]`, if it is next; the position is after its opening bracket.
    private mutating func named() throws(InvalidPattern) -> ScalarClass? {
        let start = position
        guard skip(":") else { return nil }
        let isComplement = skip("^")
        var name = ""
        while let scalar = peek(), scalar.isASCII, scalar.isWord {
            name.unicodeScalars.append(scalar)
            position += 1
        }
        guard !name.isEmpty, skip(":]") else {
            position = start
            return nil
        }
        guard let property = ScalarProperty(name) else { throw error("there is no property '\(name)'") }
        return isComplement ? .complement(.property(property)) : .property(property)
    }
}
