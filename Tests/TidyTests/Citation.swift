// Codes of the specification that texts cite: rows such as MO-43, features such as F-5, rules such as F1.
//
// Elsewhere: the definitions of codes in articles (Article).

/// A code that a text cites, with its place.
struct Citation: Hashable {
    let code: String
    let path: String
    let line: Int

    /// Every code in `text` in order, except those in backticks.
    static func codes(in text: some StringProtocol) -> [String] {
        var (codes, word, isQuoted): ([String], [UInt8], Bool) = ([], [], false)
        func isPart(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        for byte in text.utf8 {
            if isPart(byte) {
                if !isQuoted { word.append(byte) }
                continue
            }
            if isCode(word) { codes.append(String(decoding: word, as: UTF8.self)) }
            word.removeAll()
            if byte == UInt8(ascii: "`") { isQuoted.toggle() }
        }
        return isCode(word) ? codes + [String(decoding: word, as: UTF8.self)] : codes
    }

    /// Whether a word is a code: `A1`, `A-1` or `AB-1`, each with one or two digits.
    static func isCode(_ word: some Collection<UInt8>) -> Bool {
        let letters = word.prefix { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
        var rest = word.dropFirst(letters.count)
        let hasDash = rest.first == UInt8(ascii: "-")
        if hasDash { rest = rest.dropFirst() }
        return (1...2).contains(rest.count) && rest.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            && (letters.count == 1 || letters.count == 2 && hasDash)
    }
}

extension SourceFile {
    /// The citations in comments and in names in backticks.
    func citations() -> [Citation] {
        tokens.flatMap { token -> [Citation] in
            guard token.kind == .comment || token.kind == .rawIdentifier else { return [] }
            return token.text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().flatMap { line in
                Citation.codes(in: line.element).map {
                    Citation(code: $0, path: path, line: token.line + line.offset)
                }
            }
        }
    }

    /// Every test of the file as `Suite/name`: functions whose names are in backticks, within their type.
    func testNames() -> Set<String> {
        let keywords: Set = ["struct", "class", "enum", "actor", "extension"]
        var (types, pending, names): ([String?], String?, Set<String>) = ([], nil, [])
        for (token, next) in zip(code, code.dropFirst()) {
            if token.isCode("{") {
                types.append(pending)
                pending = nil
            } else if token.isCode("}") {
                _ = types.popLast()
            } else if token.kind == .word, keywords.contains(token.text), next.text.first?.isUppercase == true {
                pending = next.text
            } else if token.isCode("func"), next.kind == .rawIdentifier, let suite = types.last(where: { $0 != nil }) {
                names.insert("\(suite ?? "")/\(next.text)")
            }
        }
        return names
    }
}

extension Repository {
    /// The citations in Swift files, articles and the list of mutations.
    func citations() -> [Citation] {
        let list = "Tests/Mutations/list"
        let reasons = (text(of: list) ?? "").split(separator: "\n", omittingEmptySubsequences: false).enumerated()
        return swiftFiles.flatMap { $0.citations() } + articles().flatMap(\.citations)
            + reasons.flatMap { line -> [Citation] in
                guard line.element.hasPrefix("#") || line.element.hasPrefix("because") else { return [] }
                return Citation.codes(in: line.element).map {
                    Citation(code: $0, path: list, line: line.offset + 1)
                }
            }
    }

    /// Every Markdown text.
    func articles() -> [Article] {
        paths.filter { $0.hasSuffix(".md") }.compactMap { path in
            text(of: path).map { Article(path: path, text: $0) }
        }
    }
}
