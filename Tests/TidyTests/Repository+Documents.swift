// Rules about documents: the variables of the environment and the filters of tests that they name, their tables, and
// their claims of speed.

/// A name with its place.
struct NamedPlace: Hashable {
    let name: String
    let path: String
    let line: Int
}

extension Repository {
    /// The documents that name every variable of the environment.
    static let variableDocuments = ["README.md", "Tests/README.md"]
    /// The programs of the shell that read variables.
    static let shellPrograms = ["Tests/Mutations/run", "Fuzz/run"]
    /// The beginning of the name of each variable.
    static let variablePrefix = "ESPALIER_"

    /// Each variable that sources, tests and the two programs of the shell name is in a document, and each one of a
    /// document is in them.
    func variableFindings() -> [Finding] {
        let shell = Self.shellPrograms.flatMap { path in Self.variables(in: text(of: path) ?? "", at: path) }
        let documents = Self.variableDocuments.flatMap { path in Self.variables(in: text(of: path) ?? "", at: path) }
        return Self.variableFindings(used: swiftFiles.flatMap { $0.variables() } + shell, explained: documents)
    }

    /// One finding for each name that only the code, or only a document has.
    static func variableFindings(used: [NamedPlace], explained: [NamedPlace]) -> [Finding] {
        let (inCode, inDocuments) = (Set(used.map(\.name)), Set(explained.map(\.name)))
        let unexplained = firstPlaces(used.filter { !inDocuments.contains($0.name) }).map {
            Finding($0.path, $0.line, "\($0.name): say in \(variableDocuments.joined(separator: " or ")) what it sets")
        }
        let unused = firstPlaces(explained.filter { !inCode.contains($0.name) }).map {
            Finding($0.path, $0.line, "\($0.name): nothing reads it")
        }
        return unexplained + unused
    }

    private static func firstPlaces(_ places: [NamedPlace]) -> [NamedPlace] {
        var names: Set<String> = []
        return places.filter { names.insert($0.name).inserted }
    }

    /// The variables that a text names, with their lines.
    static func variables(in text: String, at path: String) -> [NamedPlace] {
        text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated().flatMap { line in
            names(in: line.element).map { NamedPlace(name: $0, path: path, line: line.offset + 1) }
        }
    }

    /// The words of a text that are names of variables: `ESPALIER_` and capitals, digits and underscores.
    static func names(in text: some Collection<UInt8>) -> [String] {
        let words = text.split(whereSeparator: { !isPartOfName($0) })
        let names = words.filter { $0.starts(with: variablePrefix.utf8) && $0.count > variablePrefix.utf8.count }
        return names.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func isPartOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"): true
        default: false
        }
    }

    /// In each table of each Markdown text every row has as many cells as the titles, and no blank line is within it:
    /// a viewer shows such a table otherwise than it was meant.
    func tableFindings() -> [Finding] {
        paths.filter { $0.hasSuffix(".md") }.flatMap { path in Self.tableFindings(in: text(of: path) ?? "", at: path) }
    }

    /// The findings in one Markdown text.
    static func tableFindings(in text: String, at path: String) -> [Finding] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var (findings, titleCount, isFenced): ([Finding], Int?, Bool) = ([], nil, false)
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("```") { isFenced.toggle() }
            guard !isFenced, line.hasPrefix("|") else {
                titleCount = nil
                continue
            }
            let count = barCount(in: line)
            if let titleCount, titleCount != count {
                let message = "\(count - 1) cells in a table of \(titleCount - 1): write \\| for a bar in a text"
                findings.append(Finding(path, index + 1, message))
            }
            titleCount = titleCount ?? count
            let next = lines[(index + 1)...]
            if next.count > 1, next[index + 1].isEmpty, next[index + 2].hasPrefix("|"),
                next.count < 3 || !next[index + 3].hasPrefix("|-")
            {
                findings.append(Finding(path, index + 2, "a blank line ends the table: remove it"))
            }
        }
        return findings
    }

    /// The bars between cells: those without a backslash before them.
    private static func barCount(in line: Substring) -> Int {
        var (count, isEscaped) = (0, false)
        for byte in line.utf8 {
            if byte == UInt8(ascii: "|") && !isEscaped { count += 1 }
            isEscaped = byte == UInt8(ascii: "\\")
        }
        return count
    }

    /// Each part of a `--filter` in the two READMEs is a part of the name of a file of tests, of a target or of a test:
    /// a filter that selects nothing would succeed.
    func filterFindings() -> [Finding] {
        let tests = swiftFiles.filter(\.isTest)
        let names = Set(tests.map(\.stem)).union(tests.map(\.target))
        let filters = Self.variableDocuments.flatMap { path in Self.filters(in: text(of: path) ?? "", at: path) }
        return filters.compactMap { filter in
            if names.contains(where: { $0.contains(filter.name) }) { return nil }
            let isInTest = tests.contains { file in
                file.tokens.contains { $0.kind == .rawIdentifier && $0.text.contains(filter.name) }
            }
            return isInTest ? nil : Finding(filter.path, filter.line, "the filter '\(filter.name)' selects no test")
        }
    }

    /// The parts of the filters that a document names, each with its line.
    static func filters(in text: String, at path: String) -> [NamedPlace] {
        var found: [NamedPlace] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            for rest in line.split(separator: "--filter ", omittingEmptySubsequences: false).dropFirst() {
                var filter = rest.prefix { $0 != "`" && $0 != " " }
                if let quote = rest.first, quote == "\"" || quote == "'" {
                    filter = rest.dropFirst().prefix { $0 != quote }
                }
                // A bar in a table has a backslash before it.
                for part in filter.split(whereSeparator: { $0 == "|" || $0 == "\\" }) {
                    found.append(NamedPlace(name: String(part), path: path, line: index + 1))
                }
            }
        }
        return found
    }

    /// The findings in the articles about decisions.
    func decisionFindings() -> [Finding] {
        let articles = paths.filter { $0.hasSuffix(".docc/Decisions.md") }
        return Decision.findings(in: articles.map { (path: $0, text: text(of: $0) ?? "") })
    }
}

extension SourceFile {
    /// The variables that strings and conditions of compilation name.
    func variables() -> [NamedPlace] {
        tokens.flatMap { token -> [NamedPlace] in
            // Few tokens are longer than the beginning of such a name, and few of these have an underscore.
            guard token.bytes.count > Repository.variablePrefix.utf8.count,
                token.kind == .string || token.kind == .word, token.text.utf8.contains(UInt8(ascii: "_"))
            else { return [] }
            return Repository.names(in: token.text.utf8).map { NamedPlace(name: $0, path: path, line: token.line) }
        }
    }
}
