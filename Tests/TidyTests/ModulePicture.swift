// The module picture, which manifest, README and import table each contain: the three must agree.

/// One version of the picture: each module and the modules of this package that it uses.
struct ModulePicture: Equatable {
    /// The modules and their edges.
    let edges: [String: Set<String>]

    /// The picture of the import table.
    static let ofTheTable = ModulePicture(edges: ImportTable.modules)

    init(edges: [String: Set<String>]) { self.edges = edges }

    /// The picture of a manifest: each target that is no test, by its `name:` and the strings of its `dependencies:`.
    init(manifest: SourceFile) {
        let tokens = manifest.tokens.filter { $0.kind != .comment }
        var edges: [String: Set<String>] = [:]
        for start in tokens.indices.dropFirst() {
            guard ["target", "executableTarget", "macro", "plugin"].contains(tokens[start].text),
                tokens[start - 1].isCode(".")
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

    /// The picture of a README, from its table `| module | may import | … |`; words that name no module of ours are
    /// ignored.
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

    /// The differences of this version, found at `path`, from the import table.
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
