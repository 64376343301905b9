// Tags, attributes, text and references of XML; the markup that is skipped, and the markup that is refused.

extension XMLReader {
    /// Reads `<name attribute="value" …>`; `isEmpty` says whether it ended with `/>`.
    mutating func tag() throws(XMLError) -> (XMLElement, isEmpty: Bool) {
        let line = currentLine()
        guard skip("<") else { throw malformed("an element must begin here, with <") }
        var element = XMLElement(name: try name(of: "an element"), line: line)
        var names: Set<String> = []
        while true {
            let start = position
            skipSpace()
            if skip("/>") { return (element, true) }
            if skip(">") { return (element, false) }
            guard !isAtEnd else { throw malformed("the tag of '\(element.name)' does not end; close it with >") }
            guard position > start else {
                throw malformed("no space separates the attributes of '\(element.name)'; put one between them")
            }
            let attribute = try attribute(of: element.name)
            guard names.insert(attribute.name).inserted else {
                throw malformed("'\(element.name)' has the attribute '\(attribute.name)' twice; remove one")
            }
            element.attributes.append(attribute)
        }
    }

    private mutating func attribute(of element: String) throws(XMLError) -> XMLAttribute {
        let name = try name(of: "an attribute of '\(element)'")
        skipSpace()
        guard skip("=") else { throw malformed("the attribute '\(name)' has no value; write \(name)=\"…\"") }
        skipSpace()
        let quote: UInt8 = bytes.indices.contains(position) ? bytes[position] : 0
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
            throw malformed("the value of the attribute '\(name)' is not in quotes")
        }
        position += 1
        let start = position
        while position < bytes.count, bytes[position] != quote {
            if bytes[position] == UInt8(ascii: "<") {
                throw malformed("the value of the attribute '\(name)' contains <; write &lt;, or close the quotes")
            }
            position += 1
        }
        guard !isAtEnd else { throw malformed("the value of the attribute '\(name)' has no closing quote") }
        let end = position
        let value = try decoded(start..<end, isAttribute: true)
        position = end + 1
        return XMLAttribute(name: name, value: value)
    }

    /// Reads a name of ASCII letters, digits, `_`, `-`, `.`, `:` and non-ASCII characters.
    mutating func name(of what: String) throws(XMLError) -> String {
        let start = position
        while position < bytes.count, bytes[position].isXMLName { position += 1 }
        guard position > start, bytes[start].beginsXMLName else { throw malformed("the name of \(what) is missing") }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    /// Appends the text before the next `<` to the innermost open element.
    mutating func text(into open: inout [XMLElement]) throws(XMLError) {
        let start = position
        while position < bytes.count, bytes[position] != UInt8(ascii: "<") { position += 1 }
        let end = position
        guard end > start, let top = open.indices.last else { return }
        open[top].text += try decoded(start..<end, isAttribute: false)
        position = end
    }

    /// The characters in a range, with references replaced, line breaks normalized, and white space in attributes as
    /// spaces.
    private mutating func decoded(_ range: Range<Int>, isAttribute: Bool) throws(XMLError) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(range.count)
        position = range.lowerBound
        while position < range.upperBound {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "&"): result += try reference(before: range.upperBound).utf8
            case 0x0D:
                position += 1
                if position < range.upperBound, bytes[position] == 0x0A { position += 1 }
                result.append(isAttribute ? 0x20 : 0x0A)
            case 0x09, 0x0A:
                position += 1
                result.append(isAttribute ? 0x20 : byte)
            case ..<0x20:
                throw malformed("XML does not allow the control character \(byte); remove it")
            default:
                position += 1
                result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Reads `&name;`, `&#number;` or `&#xnumber;`.
    private mutating func reference(before end: Int) throws(XMLError) -> String {
        // The longest reference needed is &#x10FFFF; and a few leading zeros.
        let limit = min(end, position + 16)
        guard let semicolon = bytes[position..<limit].firstIndex(of: UInt8(ascii: ";")) else {
            throw malformed("& begins a reference that does not end with ;  Write &amp; for the character")
        }
        let name = String(decoding: bytes[(position + 1)..<semicolon], as: UTF8.self)
        guard let text = Self.characters(of: name) else {
            throw malformed("&\(name); is unknown; there are &amp; &lt; &gt; &quot; &apos; and numbers of characters")
        }
        position = semicolon + 1
        return text
    }

    private static func characters(of name: String) -> String? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let isHexadecimal = name.hasPrefix("#x")
            let digits = name.dropFirst(isHexadecimal ? 2 : 1)
            guard digits.first != "+", digits.first != "-",
                let number = UInt32(digits, radix: isHexadecimal ? 16 : 10),
                let scalar = Unicode.Scalar(number), scalar.isXMLCharacter
            else { return nil }
            return String(scalar)
        }
    }

    // MARK: Skipped markup

    mutating func skipComment() throws(XMLError) {
        guard skip(to: "-->") else { throw malformed("a comment does not end; close it with -->") }
    }

    mutating func skipInstruction() throws(XMLError) {
        guard skip(to: "?>") else { throw malformed("a processing instruction does not end; close it with ?>") }
    }

    /// Skips the rest of `<?xml …?>`; refuses an encoding other than UTF-8.
    mutating func skipDeclaration() throws(XMLError) {
        let start = position
        try skipInstruction()
        let text = String(decoding: bytes[start..<position], as: UTF8.self).lowercased()
        guard let range = text.firstRange(of: "encoding") else { return }
        let value = text[range.upperBound...].drop { " =\t\r\n".contains($0) }.dropFirst()
        guard ["utf-8", "utf8", "us-ascii"].contains(where: { value.hasPrefix($0) }) else {
            throw malformed("the encoding is not UTF-8; save the text as UTF-8")
        }
    }

    /// Skips the rest of a document type; refuses one with declarations of its own.
    mutating func skipDocumentType() throws(XMLError) {
        while position < bytes.count, bytes[position] != UInt8(ascii: ">") {
            if bytes[position] == UInt8(ascii: "[") {
                throw malformed(
                    "the document type has its own declarations, which this reader does not support; remove the [ … ]")
            }
            position += 1
        }
        guard skip(">") else { throw malformed("the document type does not end; close it with >") }
    }
}

extension UInt8 {
    /// Whether the byte can begin a name.
    var beginsXMLName: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
            UInt8(ascii: ":"), 0x80...:
            true
        default: false
        }
    }

    /// Whether the byte can be part of a name.
    var isXMLName: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."): true
        default: beginsXMLName
        }
    }
}

extension Unicode.Scalar {
    /// Whether XML 1.0 allows the character, either directly or as a reference.
    var isXMLCharacter: Bool {
        switch value {
        case 0x09, 0x0A, 0x0D, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }
}
