// Rules about the shape of a file: the first line, the number and length of lines, the length of functions.

extension SourceFile {
    static let lineCountMax = 500
    static let lineLengthMax = 120
    static let functionLengthMax = 70
    static let headerLengthMax = 25

    /// The first line states the purpose of the file in a sentence, and the header is not too long.
    func purposeFindings() -> [Finding] {
        let first = header.first { !$0.hasPrefix("// swift-tools-version") && $0 != "//" } ?? ""
        guard first.hasPrefix("// "), first.split(separator: " ").count > 3 else {
            return [finding(1, "the first line is a comment that says what the file is for")]
        }
        guard header.count <= Self.headerLengthMax else {
            return [finding(1, "the header has \(header.count) lines; at most \(Self.headerLengthMax) are read")]
        }
        return []
    }

    /// No file is longer than `lineCountMax`.
    func fileLengthFindings() -> [Finding] {
        lines.count <= Self.lineCountMax
            ? [] : [finding(0, "\(lines.count) lines; at most \(Self.lineCountMax): split it by concept")]
    }

    /// No line is longer than `lineLengthMax`.
    func lineLengthFindings() -> [Finding] {
        lines.enumerated().compactMap { index, line in
            guard line.utf8.count > Self.lineLengthMax, line.count > Self.lineLengthMax else { return nil }
            return finding(index + 1, "\(line.count) characters; at most \(Self.lineLengthMax)")
        }
    }

    /// One function with a body.
    struct Function: Equatable {
        let name: String
        let line: Int
        let lineCount: Int
    }

    /// Every function, initializer and deinitializer with a body.
    func functions() -> [Function] {
        code.indices.compactMap { index in
            let token = code[index]
            guard token.kind == .word, ["func", "init", "deinit"].contains(token.text) else { return nil }
            if index > 0, code[index - 1].isCode(".") { return nil }
            guard let open = bodyStart(after: index), let close = closingBrace(of: open) else { return nil }
            let name = token.text == "func" ? code[index + 1].text : token.text
            return Function(name: name, line: token.line, lineCount: code[close].line - token.line + 1)
        }
    }

    /// No function is longer than `functionLengthMax`.
    func functionLengthFindings() -> [Finding] {
        functions().filter { $0.lineCount > Self.functionLengthMax }.map {
            finding($0.line, "\($0.name) has \($0.lineCount) lines; at most \(Self.functionLengthMax)")
        }
    }

    /// The index of the brace that opens the body of the function declared at `index`; `nil` for a protocol
    /// requirement.
    private func bodyStart(after index: Int) -> Int? {
        let declarations: Set = [
            "func", "var", "let", "init", "deinit", "subscript", "case", "struct", "class", "enum", "protocol",
            "extension", "typealias", "associatedtype", "import",
        ]
        var depth = 0
        for next in code.indices.dropFirst(index + 1) {
            let token = code[next]
            if token.isCode("(") || token.isCode("[") { depth += 1 }
            if token.isCode(")") || token.isCode("]") { depth -= 1 }
            guard depth == 0 else { continue }
            if token.isCode("{") { return next }
            if token.isCode("}") || token.kind == .word && declarations.contains(token.text) { return nil }
        }
        return nil
    }

    /// The index of the brace that closes the one at `open`.
    private func closingBrace(of open: Int) -> Int? {
        var depth = 0
        for index in open..<code.count {
            if code[index].isCode("{") { depth += 1 }
            if code[index].isCode("}") { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }
}
