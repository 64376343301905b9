// The manifest and the README show the module picture of the import table, which every file is checked against.

import Testing

@Suite struct ModulePictureTests {
    @Test func `the manifest's dependencies are the import table`() {
        for manifest in Repository.current.swiftFiles where manifest.path == "Package.swift" {
            expectNone(ModulePicture(manifest: manifest).findings(at: manifest.path))
        }
    }

    @Test func `the README's module table is the import table`() throws {
        let text = Repository.current.text(of: "README.md")
        let readme = try #require(text, "the repository has no README.md")

        expectNone(ModulePicture(readme: readme).findings(at: "README.md"))
    }

    @Test func `an edge more or less in a manifest is found`() {
        let text = """
            let package = Package(name: "P", products: [.library(name: "EspalierModel", targets: ["X"])], targets: [
                .target(name: "EspalierEngine", dependencies: ["EspalierModel"]),
                .target(name: "Espalier", dependencies: ["EspalierModel", "EspalierStore"], exclude: ["dbtool"]),
                .target(name: "EspalierModel"), .target(name: "EspalierModelFile", dependencies: ["EspalierModel"]),
                .macro(name: "EspalierMacros"), .target(name: "EspalierAudit"),
                .target(
                    name: "EspalierCoreData",
                    dependencies: ["EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierStore"]),
                .executableTarget(
                    name: "EspalierClassWriter", dependencies: ["EspalierModel", "EspalierModelFile"]),
                .plugin(
                    name: "EspalierClasses", capability: .buildTool(), dependencies: ["EspalierClassWriter"],
                    path: "Sources/EspalierClasses"),
                .executableTarget(
                    name: "dbtool",
                    dependencies: [
                        "EspalierAudit", "EspalierEngine", "EspalierModel", "EspalierModelFile", "EspalierCoreData",
                        "EspalierStore", "Espalier",
                    ]),
                .testTarget(name: "EspalierTests", dependencies: ["Espalier"]),
            ])
            """
        let picture = ModulePicture(manifest: SourceFile(path: "Package.swift", text: text))

        #expect(
            picture.findings(at: "Package.swift").map(\.message) == [
                "says that Espalier uses EspalierModel, EspalierStore, "
                    + "the import table says EspalierMacros, EspalierModel, EspalierStore",
                "says that EspalierEngine uses EspalierModel, the import table says nothing",
                "says that EspalierStore uses (is no module), the import table says EspalierEngine, EspalierModel",
            ])
    }

    @Test func `an edge more or less in a README is found`() {
        let rows = ImportTable.modules.map { "| `\($0)` | \($1.sorted().joined(separator: ", ")) | no page |" }
        let right = (["| module | may import | knows |", "|---|---|---|"] + rows).joined(separator: "\n")
        let wrong = right.replacing("| `EspalierStore` | EspalierEngine, ", with: "| `EspalierStore` | Espalier, ")

        #expect(ModulePicture(readme: right) == .ofTheTable)
        #expect(ModulePicture(readme: wrong).findings(at: "README.md").map(\.path) == ["README.md"])
        #expect(ModulePicture(readme: "").findings(at: "README.md").count == ImportTable.modules.count)
    }
}
