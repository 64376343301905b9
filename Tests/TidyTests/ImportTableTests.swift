// The import table: every file obeys it, and a breach of it is found.

import Testing

@Suite struct ImportTableTests {
    @Test func `every module imports only what the table allows`() {
        expectNone(Repository.current.swiftFiles.flatMap { $0.importFindings() })
    }

    @Test func `every module of the product has its row`() {
        let modules = Set(Repository.current.swiftFiles.filter(\.isProduct).map(\.target))

        #expect(modules == Set(ImportTable.modules.keys))
        #expect(Set(ImportTable.modules.keys) == Set(ImportTable.foreign.keys))
    }

    @Test(arguments: [
        ("Sources/Espalier/X.swift", "import EspalierEngine", "EspalierEngine"),
        ("Sources/Espalier/X.swift", "@testable import struct EspalierEngine.Database", "EspalierEngine"),
        ("Sources/EspalierEngine/X.swift", "internal import Foundation", "Foundation"),
        ("Sources/EspalierEngine/X.swift", "#if os(Linux)\nimport Glibc\n#endif", "Glibc"),
        ("Sources/EspalierModel/Values/X.swift", "@preconcurrency public import Foundation", "Foundation"),
        ("Sources/EspalierModel/X.swift", "import EspalierStore", "EspalierStore"),
        ("Sources/EspalierStore/Platform.swift", "import Glibc", "Glibc"),
        ("Sources/EspalierMacros/X.swift", "import Espalier", "Espalier"),
    ])
    func `an import that the table lacks is found`(path: String, text: String, module: String) {
        let findings = SourceFile(path: path, text: text).importFindings()

        #expect(findings.count == 1)
        #expect(findings.first?.message.contains("may not import \(module)") == true)
    }

    @Test(arguments: ["FileSystem/Platform.swift", "Platform+Status.swift"])
    func `the engine's platform files may import the C library`(_ path: String) {
        let file = SourceFile(path: "Sources/EspalierEngine/" + path, text: "import Glibc\nimport Musl\n")

        #expect(file.importFindings().isEmpty)
    }

    @Test func `a module that the table does not name is found`() {
        #expect(SourceFile(path: "Sources/EspalierExtras/X.swift", text: "").importFindings().count == 1)
    }
}
