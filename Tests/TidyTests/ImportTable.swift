// Which module may import which: the table that README and manifest repeat, read against every file's imports.
//
// Invariants
//   1. The C library is imported in one file of the engine and nowhere else in the product.
//   2. `Espalier` and `EspalierEngine` never meet: what applications use knows no pages. Only this table holds that:
//      the build's own import check lets a module import what its dependencies depend on.

/// One import of a file.
struct Import: Equatable {
    let module: String
    let line: Int
}

/// The table of allowed imports.
enum ImportTable {
    static let platformFileName = "Platform"
    static let cLibraries: Set = ["Glibc", "Musl", "Darwin"]
    /// Which of our modules a module may import.
    static let modules: [String: Set<String>] = [
        "EspalierAudit": [],
        "EspalierEngine": [],
        "EspalierModel": [],
        "EspalierModelFile": ["EspalierModel"],
        "EspalierStore": ["EspalierEngine", "EspalierModel"],
        "EspalierCoreData": ["EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierStore"],
        "Espalier": ["EspalierMacros", "EspalierModel", "EspalierStore"],
        "EspalierMacros": [],
        "dbtool": [
            "EspalierAudit", "EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierCoreData",
            "EspalierStore", "Espalier",
        ],
    ]
    /// What it may import of the toolchain.
    static let foreign: [String: Set<String>] = [
        // The standard library normalizes text under a name of its own only.
        "EspalierAudit": ["Swift"],
        "EspalierEngine": ["Synchronization"],
        "EspalierModel": ["FoundationEssentials", "Swift", "Synchronization"],
        "EspalierModelFile": ["FoundationEssentials"],
        "EspalierStore": ["FoundationEssentials", "Synchronization"],
        "EspalierCoreData": ["Dispatch", "FoundationEssentials", "Synchronization"],
        "Espalier": ["Dispatch", "FoundationEssentials", "Synchronization"],
        "EspalierMacros": [
            "SwiftSyntax", "SwiftSyntaxMacros", "SwiftSyntaxBuilder", "SwiftDiagnostics",
            "SwiftCompilerPluginMessageHandling",
        ],
        "dbtool": ["Foundation", "FoundationEssentials", "Synchronization"],
    ]
}

extension SourceFile {
    /// Every import; of `import struct Module.Name` the module.
    func imports() -> [Import] {
        let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        return code.indices.compactMap { index in
            guard code[index].isCode("import"), index + 2 < code.count || index + 1 < code.count else { return nil }
            if index > 0, code[index - 1].isCode(".") || code[index - 1].isCode("@") { return nil }
            let name = kinds.contains(code[index + 1].text) ? index + 2 : index + 1
            return name < code.count ? Import(module: code[name].text, line: code[index].line) : nil
        }
    }

    /// Every import of product code stands in the table.
    func importFindings() -> [Finding] {
        guard isProduct else { return [] }
        guard let ours = ImportTable.modules[target], let foreign = ImportTable.foreign[target] else {
            return [finding(0, "\(target) is no module of the table")]
        }
        let isPlatformFile = target == "EspalierEngine" && stem == ImportTable.platformFileName
        return imports().compactMap { edge in
            if ours.contains(edge.module) || foreign.contains(edge.module) { return nil }
            if isPlatformFile && ImportTable.cLibraries.contains(edge.module) { return nil }
            let allowed = ours.union(foreign).sorted().joined(separator: ", ")
            return finding(edge.line, "\(target) may not import \(edge.module); it may import \(allowed)")
        }
    }
}
