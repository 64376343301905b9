// Parses escapes of a pattern, outside of sets and within.

extension PatternParser {
    /// The meaning of an escape outside of a set; the position is after the backslash.
    mutating func escape() throws(InvalidPattern) -> PatternNode {
        guard let scalar = peek() else {
            position -= 1
            throw error("nothing follows '\\'")
        }
        switch scalar {
        case "A": return passed(.assertion(.textStart))
        case "z": return passed(.assertion(.textEnd))
        case "Z": return passed(.assertion(.lastLineEnd))
        case "b": return passed(.assertion(.wordEdge))
        case "B": return passed(.assertion(.noWordEdge))
        case "R":
            let pair: [PatternNode] = [literal("\r"), literal("\n")]
            return passed(.choice([.sequence(pair), .scalars(.lineEnd, ignoresCase: false)]))
        case "1"..."9":
            var number = Int(scalar.value - 48)
            position += 1
            while let next = peek(), next.isDigit, number * 10 + Int(next.value - 48) <= captureCount {
                number = number * 10 + Int(next.value - 48)
                position += 1
            }
            return try backReference(number)
        case "k":
            position += 1
            guard skip("<") else { throw error("\\k needs the name of a group, as in \\k<name>") }
            let name = try name(until: ">")
            guard let number = captureNumber(name) else { throw error("no group '\(name)' precedes the reference") }
            return try backReference(number)
        default: break
        }
        return .scalars(try escapedClass(), ignoresCase: flags.ignoresCase)
    }

    private mutating func passed(_ node: PatternNode) -> PatternNode {
        position += 1
        return node
    }

    private func backReference(_ number: Int) throws(InvalidPattern) -> PatternNode {
        guard number <= captureCount else { throw error("no group \(number) precedes the reference") }
        return .backReference(number, ignoresCase: flags.ignoresCase)
    }

    /// The set that an escape names, often of one scalar; the position is after the backslash.
    mutating func escapedClass() throws(InvalidPattern) -> ScalarClass {
        guard let scalar = peek() else { throw error("nothing follows '\\'") }
        position += 1
        switch scalar {
        case "d": return .digit
        case "D": return .complement(.digit)
        case "w": return .word
        case "W": return .complement(.word)
        case "s": return .space
        case "S": return .complement(.space)
        case "h": return .horizontalSpace
        case "H": return .complement(.horizontalSpace)
        case "v": return .lineEnd
        case "V": return .complement(.lineEnd)
        case "p": return .property(try property())
        case "P": return .complement(.property(try property()))
        case "t": return .scalar("\t")
        case "n": return .scalar("\n")
        case "r": return .scalar("\r")
        case "f": return .scalar("\u{C}")
        case "a": return .scalar("\u{7}")
        case "e": return .scalar("\u{1B}")
        case "c":
            guard let letter = peek(), ("@"..."_").contains(letter) || ("a"..."z").contains(letter) else {
                throw error("\\c needs a letter after it")
            }
            position += 1
            return try scalarClass(letter.value & 31)
        case "0": return try scalarClass(digits(countMax: 3, radix: 8))
        case "x": return try scalarClass(skip("{") ? braced() : digits(countMax: 2, radix: 16))
        case "u": return try scalarClass(skip("{") ? braced() : digits(countMax: 4, radix: 16, isExact: true))
        case "U": return try scalarClass(digits(countMax: 8, radix: 16, isExact: true))
        case _ where !scalar.isASCII || !scalar.isWord || scalar == "_": return .scalar(scalar)
        default:
            position -= 1
            throw error("'\\\(Character(scalar))' is not a known escape")
        }
    }

    private func scalarClass(_ value: UInt32?) throws(InvalidPattern) -> ScalarClass {
        guard let value, let scalar = Unicode.Scalar(value) else { throw error("this is not a Unicode scalar") }
        return .scalar(scalar)
    }

    private mutating func braced() -> UInt32? {
        let value = digits(countMax: 8, radix: 16)
        return skip("}") ? value : nil
    }

    private mutating func digits(countMax: Int, radix: Int, isExact: Bool = false) -> UInt32? {
        var text = ""
        while text.unicodeScalars.count < countMax, let scalar = peek(), scalar.isASCII,
            Character(scalar).hexDigitValue.map({ $0 < radix }) == true
        {
            text.unicodeScalars.append(scalar)
            position += 1
        }
        return isExact && text.unicodeScalars.count < countMax ? nil : UInt32(text, radix: radix)
    }

    /// The property `{Lu}` or `L`; the position is after the `p`.
    private mutating func property() throws(InvalidPattern) -> ScalarProperty {
        var name = ""
        if skip("{") {
            while let scalar = peek(), scalar != "}", scalar.isASCII, name.utf8.count < 100 {
                name.unicodeScalars.append(scalar)
                position += 1
            }
            guard skip("}") else { throw error("\\p{ has no '}'") }
        } else if let scalar = peek() {
            name.unicodeScalars.append(scalar)
            position += 1
        }
        let isSafe = name.unicodeScalars.allSatisfy { $0.isWord || " =:-^.".unicodeScalars.contains($0) }
        guard isSafe, !name.isEmpty, let property = ScalarProperty(name) else {
            throw error("there is no property '\(name)'")
        }
        return property
    }
}
