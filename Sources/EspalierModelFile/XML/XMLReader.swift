// Reads XML 1.0 in UTF-8 into elements: the part of XML that model files and property lists use.
//
// Invariants
//   1. Any bytes give an element or an `XMLError`. There is no recursion, and each step consumes at least one byte.
//   2. Memory is bounded by the input: depth, elements and children of one element are limited, each reference is
//      replaced by one character, and a document that declares entities of its own is refused.
// Not here: tags, attributes and references (XMLReader+Markup); the meaning of the elements (ModelDocument).

/// Reads one XML document.
package struct XMLReader {
    /// The maximum nesting of elements; model files have 5 levels.
    static let depthMax = 16
    /// The maximum number of elements.
    static let elementCountMax = 65_536
    /// The maximum number of children of one element.
    static let childCountMax = 4_096

    let bytes: [UInt8]
    var position = 0
    /// `line` includes the line breaks before this position.
    private var countedTo = 0
    private var line = 1
    private var elementCount = 0
    /// The greatest number of elements, and of children of one element.
    private let limits: (elements: Int, children: Int)

    private init(_ bytes: [UInt8], _ limits: (elements: Int, children: Int)) {
        (self.bytes, self.limits) = (bytes, limits)
    }

    /// Parses `bytes` and returns the root element.
    ///
    /// - Complexity: O(bytes).
    package static func read(_ bytes: [UInt8]) throws(XMLError) -> XMLElement {
        try read(bytes, elementCountMax: elementCountMax, childCountMax: childCountMax)
    }

    /// Parses `bytes`, a document with other limits than those of model files, and returns the root element.
    ///
    /// - Complexity: O(bytes).
    package static func read(
        _ bytes: [UInt8], elementCountMax: Int, childCountMax: Int
    ) throws(XMLError) -> XMLElement {
        if let first = bytes.first, let second = bytes.dropFirst().first, min(first, second) >= 0xFE {
            throw XMLError(kind: .malformed, line: 1, message: "the text is UTF-16; save it as UTF-8")
        }
        if String(validating: bytes, as: UTF8.self) == nil {
            let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            let index = lines.firstIndex { String(validating: $0, as: UTF8.self) == nil } ?? 0
            throw XMLError(
                kind: .malformed, line: index + 1, message: "the bytes are not UTF-8; save the text as UTF-8")
        }
        var reader = XMLReader(bytes, (elementCountMax, childCountMax))
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        return try reader.document()
    }

    private mutating func document() throws(XMLError) -> XMLElement {
        try skipBeforeRoot()
        guard !isAtEnd else {
            throw malformed("the text has no element; an XML text must have exactly one top element")
        }
        var open: [XMLElement] = []
        var isEmpty = try openTag(into: &open)
        while true {
            if isEmpty {
                guard let element = open.popLast() else { break }
                guard let above = open.indices.last else {
                    try skipBehindRoot()
                    return element
                }
                open[above].children.append(element)
                isEmpty = false
            }
            try text(into: &open)
            isEmpty = try markup(into: &open)
        }
        throw malformed("the text ends within an element")
    }

    /// Reads the markup at the current `<`; `true` if it ends the innermost open element.
    private mutating func markup(into open: inout [XMLElement]) throws(XMLError) -> Bool {
        // Only the name and line are copied: a copy of the element would force each change of its children to copy them
        // all.
        let top = open.count - 1
        let (openName, openLine) = (open[top].name, open[top].line)
        guard !isAtEnd else {
            throw malformed("the text ends within '\(openName)' of line \(openLine); close it with </\(openName)>")
        }
        if skip("</") {
            let name = try name(of: "an element")
            guard name == openName else {
                throw malformed("</\(name)> closes no element; '\(openName)' of line \(openLine) is still open")
            }
            skipSpace()
            guard skip(">") else { throw malformed("</\(name) has no > at its end") }
            return true
        }
        if skip("<!--") {
            try skipComment()
        } else if skip("<![CDATA[") {
            let start = position
            guard skip(to: "]]>") else { throw malformed("a CDATA section does not end; close it with ]]>") }
            open[top].text += String(decoding: bytes[start..<(position - 3)], as: UTF8.self)
        } else if skip("<?") {
            try skipInstruction()
        } else {
            if open[top].children.count >= limits.children {
                throw tooLarge("'\(openName)' contains more than \(limits.children) elements")
            }
            return try openTag(into: &open)
        }
        return false
    }

    /// Reads an opening tag and pushes its element; `true` if it ends with `/>`.
    private mutating func openTag(into open: inout [XMLElement]) throws(XMLError) -> Bool {
        elementCount += 1
        guard elementCount <= limits.elements else {
            throw tooLarge("the text has more than \(limits.elements) elements")
        }
        guard open.count < Self.depthMax else { throw tooLarge("elements are nested more than \(Self.depthMax) deep") }
        let (element, isEmpty) = try tag()
        open.append(element)
        return isEmpty
    }

    /// Skips the XML declaration, comments and the document type.
    private mutating func skipBeforeRoot() throws(XMLError) {
        if skip("<?xml") { try skipDeclaration() }
        while true {
            skipSpace()
            if skip("<!--") {
                try skipComment()
            } else if skip("<?") {
                try skipInstruction()
            } else if skip("<!DOCTYPE") {
                try skipDocumentType()
            } else {
                return
            }
        }
    }

    private mutating func skipBehindRoot() throws(XMLError) {
        while true {
            skipSpace()
            if skip("<!--") {
                try skipComment()
            } else if skip("<?") {
                try skipInstruction()
            } else {
                guard isAtEnd else { throw malformed("something follows the end of the top element; remove it") }
                return
            }
        }
    }

    // The position of the reader

    var isAtEnd: Bool { position == bytes.count }

    /// The line of the current position.
    mutating func currentLine() -> Int {
        while countedTo < position {
            if bytes[countedTo] == UInt8(ascii: "\n") { line += 1 }
            countedTo += 1
        }
        return line
    }

    mutating func malformed(_ message: String) -> XMLError {
        XMLError(kind: .malformed, line: currentLine(), message: message)
    }

    private mutating func tooLarge(_ message: String) -> XMLError {
        XMLError(kind: .tooLarge, line: currentLine(), message: message)
    }

    /// Moves past `text` if it is at the current position.
    mutating func skip(_ text: StaticString) -> Bool {
        let word = Array(text.description.utf8)
        guard bytes[position...].starts(with: word) else { return false }
        position += word.count
        return true
    }

    /// Moves past the next `text`; does not move if there is none.
    mutating func skip(to text: StaticString) -> Bool {
        let word = Array(text.description.utf8)
        var next = position
        while next + word.count <= bytes.count {
            if bytes[next] == word[0], bytes[next...].starts(with: word) {
                position = next + word.count
                return true
            }
            next += 1
        }
        return false
    }

    mutating func skipSpace() {
        while position < bytes.count, bytes[position].isXMLSpace { position += 1 }
    }
}

extension UInt8 {
    /// Space, tab, line feed, carriage return.
    var isXMLSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
