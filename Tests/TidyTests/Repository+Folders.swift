// Folders are layers: within a module no folder depends on itself through others.
//
// Names are the evidence: a folder depends on another one if its code names a type that the other one declares for the
// whole module and that the folder itself does not declare.

extension Repository {
    /// Each folder of a module that is part of a circle, with a name that makes it depend on the next one.
    func folderCircleFindings() -> [Finding] {
        let modules = Dictionary(grouping: swiftFiles.filter { $0.path.hasPrefix("Sources/") }, by: \.target)
        return modules.sorted { $0.key < $1.key }.flatMap { FolderGraph($0.value).circles() }
    }
}

/// The dependencies among the folders of a module.
private struct FolderGraph {
    private struct Use {
        let file: SourceFile
        let name: String
    }

    /// One use for each pair of folders.
    private var uses: [String: [String: Use]] = [:]

    init(_ files: [SourceFile]) {
        var declaring: [String: Set<String>] = [:]
        var own: [String: Set<String>] = [:]
        for file in files {
            let folder = Self.folder(of: file)
            for name in file.moduleTypeNames() { declaring[name, default: []].insert(folder) }
            own[folder, default: []].formUnion(file.typeDeclarations().map(\.name))
        }
        for file in files {
            let folder = Self.folder(of: file)
            for token in file.code where token.kind == .word {
                guard let others = declaring[token.text], own[folder]?.contains(token.text) != true else { continue }
                for other in others where uses[folder]?[other] == nil {
                    uses[folder, default: [:]][other] = Use(file: file, name: token.text)
                }
            }
        }
    }

    private static func folder(of file: SourceFile) -> String {
        file.path.split(separator: "/").dropLast().joined(separator: "/")
    }

    /// The uses that remain after repeated removal of folders that use no other, or that no other uses.
    func circles() -> [Finding] {
        var left = uses
        while true {
            let used = Set(left.values.flatMap(\.keys))
            let next = left.filter { used.contains($0.key) }.compactMapValues { targets in
                let inCircle = targets.filter { left[$0.key] != nil }
                return inCircle.isEmpty ? nil : inCircle
            }
            if next.count == left.count, next.allSatisfy({ left[$0.key]?.count == $0.value.count }) { break }
            left = next
        }
        return left.flatMap { folder, targets in
            targets.map { target, use in
                use.file.finding(0, "uses \(use.name) of \(target), which leads back to \(folder)")
            }
        }.sorted { ($0.path, $0.message) < ($1.path, $1.message) }
    }
}

extension SourceFile {
    /// The types that the file declares for its whole module: neither within another type nor private.
    fileprivate func moduleTypeNames() -> [String] {
        let keywords: Set = ["struct", "class", "enum", "actor", "protocol", "typealias"]
        var names: [String] = []
        var depth = 0
        for (index, token) in code.enumerated() {
            if token.isCode("{") { depth += 1 }
            if token.isCode("}") { depth -= 1 }
            guard depth == 0, token.kind == .word, keywords.contains(token.text), index + 1 < code.count,
                code[index + 1].text.first?.isUppercase == true
            else { continue }
            let modifiers = code[max(0, index - 3)..<index].filter { $0.line == token.line }.map(\.text)
            if !modifiers.contains("private"), !modifiers.contains("fileprivate") { names.append(code[index + 1].text) }
        }
        return names
    }
}
