// The folders of a module in the order of its article `Layers.md`, and the calls that the article declares.
//
// The article has a numbered list of the folders, the lowest first: an item names its folders in backticks before a
// colon, or says "The files outside of all folders". Items below the heading "Calls upwards" begin with the folder that
// calls, go on with "calls", and name the folders that it calls before a colon.

/// The order of the folders of a module.
struct LayerList {
    static let heading = "## Calls upwards"

    let path: String
    /// The number of each folder's item; "" for files outside of all folders.
    private(set) var ranks: [String: Int] = [:]
    /// The folders that a folder may call although they are later in the list.
    private(set) var calls: [String: Set<String>] = [:]

    init(path: String, text: String) {
        self.path = path
        var (item, isCalls, isOver) = ("", false, false)
        let lines: [Substring] = text.split(separator: "\n", omittingEmptySubsequences: false) + [""]
        for line in lines {
            if line.hasPrefix("  "), !item.isEmpty {
                item.append(" ")
                item.append(contentsOf: line.drop(while: \.isWhitespace))
                continue
            }
            if isCalls { takeCalls(item) } else if !isOver { takeFolders(item) }
            item = String(line)
            if line.hasPrefix("## ") {
                isCalls = line == Self.heading
                isOver = !ranks.isEmpty
            }
        }
    }

    private mutating func takeFolders(_ item: String) {
        let parts = item.split(separator: ".", maxSplits: 1)
        guard parts.count == 2, let rank = Int(parts[0]) else { return }
        let head = parts[1].prefix { $0 != ":" }
        for name in Self.quoted(head) { ranks[name] = rank }
        if head.contains("files outside of all folders") { ranks[""] = rank }
    }

    private mutating func takeCalls(_ item: String) {
        guard item.hasPrefix("- "), let verb = item.firstRange(of: " calls ") else { return }
        let targets = Self.quoted(item[verb.upperBound...].prefix { $0 != ":" })
        for name in Self.quoted(item[..<verb.lowerBound]) { calls[name, default: []].formUnion(targets) }
    }

    private static func quoted(_ text: Substring) -> [String] {
        text.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap {
            $0.offset % 2 == 1 ? String($0.element) : nil
        }
    }

    /// A use that leads to another folder of the same item or of a later one.
    private struct Upward {
        let folder: String
        let target: String
        let use: FolderGraph.Use

        func finding(_ verb: String, _ advice: String) -> Finding {
            let (from, to) = (FolderGraph.name(folder), FolderGraph.name(target))
            return use.file.finding(use.line, "\(from) \(verb) \(use.name) of \(to), a later folder: \(advice)")
        }
    }

    /// The differences between the list and the code: names of types of later folders, calls that are not declared, and
    /// items that nothing in the code has.
    func findings(of graph: FolderGraph) -> [Finding] {
        let missing = graph.folders.subtracting(ranks.keys).map { "\(FolderGraph.name($0)) must be in the list" }
        let surplus = Set(ranks.keys).subtracting(graph.folders).map { "the module has no folder '\($0)'" }
        let found = upward(graph.calls)
        let unused = calls.flatMap { folder, targets in
            targets.filter { target in !found.contains { $0.folder == folder && $0.target == target } }
                .map { "\(folder) calls nothing of \($0)" }
        }
        let undeclared = found.filter { calls[$0.folder]?.contains($0.target) != true }
        let uses =
            upward(graph.types).map { $0.finding("uses", "move one of the two") }
            + undeclared.map { $0.finding("calls", "move it, or declare the call in \(path)") }
        return (missing + surplus + unused).sorted().map { Finding(path, 0, $0) }
            + uses.sorted { ($0.path, $0.line) < ($1.path, $1.line) }
    }

    private func upward(_ uses: [String: [String: FolderGraph.Use]]) -> [Upward] {
        var found: [Upward] = []
        for (folder, targets) in uses {
            for (target, use) in targets {
                guard let from = ranks[folder], let to = ranks[target], from <= to else { continue }
                found.append(Upward(folder: folder, target: target, use: use))
            }
        }
        return found
    }
}
