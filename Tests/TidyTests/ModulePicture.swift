// The module picture is told three times: by the manifest, by the README, and by the import table. They must agree.

/// What one telling of the picture says: each module and which of our modules it uses.
struct ModulePicture: Equatable {
    /// The modules and their edges.
    let edges: [String: Set<String>]

    /// What the import table says.
    static let ofTheTable = ModulePicture(edges: ImportTable.modules)

    init(edges: [String: Set<String>]) { self.edges = edges }

    /// What a manifest says of its targets that are no tests: each `name:` with the strings of its `dependencies:`.
    init(manifest: SourceFile) {
        let tokens = manifest.tokens.filter { $0.kind != .comment }
        var edges: [String: Set<String>] = [:]
        for start in tokens.indices.dropFirst() {
            guard ["target", "executableTarget", "macro"].contains(tokens[start].text), tokens[start - 1].isCode(".")
            else { continue }
            var (name, label, depth) = ("", "", 0)
            var dependencies: Set<String> = []
            for (token, next) in zip(tokens[(start + 1)...], tokens[(start + 2)...]) {
                if token.isCode("(") { depth += 1 }
                if token.isCode(")") { depth -= 1 }
                if depth == 0 { break }
                if depth == 1 && token.kind == .word && next.isCode(":") { label = token.text }
                guard token.kind == .string else { continue }
                if label == "name" { name = token.text }
                if label == "dependencies" { dependencies.insert(token.text) }
            }
            edges[name] = dependencies
        }
        self.edges = edges.filter { ImportTable.modules.keys.contains($0.key) }
    }

    /// What a README says in its table `| module | may import | … |`; names of our modules count, other words do not.
    init(readme: String) {
        let names = Set(ImportTable.modules.keys)
        var edges: [String: Set<String>] = [:]
        for line in readme.split(separator: "\n") where line.hasPrefix("|") {
            let cells = line.split(separator: "|").map { cell in
                cell.split { !$0.isLetter }.map(String.init).filter(names.contains)
            }
            guard cells.count > 1, let module = cells[0].first, cells[0].count == 1 else { continue }
            edges[module] = Set(cells[1])
        }
        self.edges = edges
    }

    /// What this telling, found at `path`, has otherwise than the import table.
    func findings(at path: String) -> [Finding] {
        let table = Self.ofTheTable.edges
        return Set(edges.keys).union(table.keys).sorted().compactMap { module in
            guard edges[module] != table[module] else { return nil }
            let (found, wanted) = (Self.list(edges[module]), Self.list(table[module]))
            return Finding(path, 0, "says that \(module) uses \(found), the import table says \(wanted)")
        }
    }

    private static func list(_ modules: Set<String>?) -> String {
        guard let modules else { return "(is no module)" }
        return modules.isEmpty ? "nothing" : modules.sorted().joined(separator: ", ")
    }
}
