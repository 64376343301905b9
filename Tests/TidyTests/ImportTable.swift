// The modules that each module may import: a table that README and manifest repeat, checked against every import.
//
// Invariants
//   1. One file of the engine imports the C library, and no other file of the product.
//   2. Neither of `Espalier` and `EspalierEngine` imports the other: the application's API knows no pages. Only this
//      table ensures that, since the build's own import check lets a module import the dependencies of its
//      dependencies.

/// One import of a file.
struct Import: Equatable {
    let module: String
    let line: Int
}

/// The table of allowed imports.
enum ImportTable {
    static let platformFileName = "Platform"
    static let cLibraries: Set = ["Glibc", "Musl", "Darwin"]
    /// The modules of this package that each module may import.
    static let modules: [String: Set<String>] = [
        "EspalierAudit": [],
        "EspalierEngine": [],
        "EspalierModel": [],
        "EspalierModelFile": ["EspalierModel"],
        "EspalierStore": ["EspalierEngine", "EspalierModel"],
        "EspalierCoreData": ["EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierStore"],
        "Espalier": ["EspalierMacros", "EspalierModel", "EspalierStore"],
        "EspalierMacros": [],
        "EspalierClasses": ["EspalierClassWriter"],
        "EspalierClassWriter": ["EspalierModel", "EspalierModelFile"],
        "dbtool": [
            "EspalierAudit", "EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierCoreData",
            "EspalierStore", "Espalier",
        ],
    ]
    /// The modules of the toolchain that each module may import.
    static let foreign: [String: Set<String>] = [
        // These modules import `Swift` by name, because its text normalization is part of an SPI.
        "EspalierAudit": ["Swift"],
        "EspalierEngine": ["Synchronization"],
        "EspalierModel": ["FoundationEssentials", "Swift", "Synchronization"],
        "EspalierModelFile": ["FoundationEssentials"],
        "EspalierStore": ["FoundationEssentials", "Synchronization"],
        "EspalierCoreData": ["Dispatch", "FoundationEssentials", "Synchronization"],
        "Espalier": ["Dispatch", "FoundationEssentials", "Observation", "Synchronization"],
        "EspalierMacros": [
            "SwiftSyntax", "SwiftSyntaxMacros", "SwiftSyntaxBuilder", "SwiftDiagnostics",
            "SwiftCompilerPluginMessageHandling",
        ],
        "EspalierClasses": ["Foundation", "PackagePlugin"],
        "EspalierClassWriter": ["Foundation"],
        "dbtool": ["Foundation", "FoundationEssentials", "Synchronization"],
    ]
}

extension SourceFile {
    /// Every import; `import struct Module.Name` imports the module.
    func imports() -> [Import] {
        let kinds: Set = ["struct", "class", "enum", "protocol", "func", "var", "let", "typealias"]
        return code.indices.compactMap { index in
            guard code[index].isCode("import"), index + 2 < code.count || index + 1 < code.count else { return nil }
            if index > 0, code[index - 1].isCode(".") || code[index - 1].isCode("@") { return nil }
            let name = kinds.contains(code[index + 1].text) ? index + 2 : index + 1
            return name < code.count ? Import(module: code[name].text, line: code[index].line) : nil
        }
    }

    /// The imports of product code that are not in the table.
    func importFindings() -> [Finding] {
        guard isProduct else { return [] }
        guard let ours = ImportTable.modules[target], let foreign = ImportTable.foreign[target] else {
            return [finding(0, "\(target) is no module of the table")]
        }
        let isPlatformFile =
            target == "EspalierEngine"
            && (stem == ImportTable.platformFileName || stem.hasPrefix(ImportTable.platformFileName + "+"))
        return imports().compactMap { edge in
            if ours.contains(edge.module) || foreign.contains(edge.module) { return nil }
            if isPlatformFile && ImportTable.cLibraries.contains(edge.module) { return nil }
            let allowed = ours.union(foreign).sorted().joined(separator: ", ")
            return finding(edge.line, "\(target) may not import \(edge.module); it may import \(allowed)")
        }
    }
}
