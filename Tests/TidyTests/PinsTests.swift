// Pages are read only while they are pinned.

import Testing

@Suite struct PinsTests {
    @Test func `no view is taken from a pin that ends in the same expression`() {
        expectNone(Repository.current.swiftFiles.filter(\.isProduct).flatMap { $0.pinFindings() })
    }

    @Test(arguments: [
        "let view = try source.pin(page).view", "let id = try pages.pin(path.page(depth(1) - 1)).view.treeID",
        "use(try pages.pin(\n    page\n)\n.view)", "let view = try operations.pinLeaf(end, in: record).view",
        "let view = try source.pin(page) { ahead($0[1]) }.view",
    ])
    func `a view of a pin that ends is found`(text: String) {
        #expect(SourceFile(path: "Sources/A/X.swift", text: text).pinFindings().map(\.line) == [1])
    }

    @Test(arguments: [
        "let pin = try source.pin(page)\nlet view = pin.view", "let view = found.pin.view",
        "// try source.pin(page).view", "let text = \"pin(page).view\"", "let number = try source.pin(page).number",
        "let view = spin(page).view", "let pins = [pin(a), pin(b)]\nlet view = pins.view",
    ])
    func `a pin that outlives its view is not`(text: String) {
        #expect(SourceFile(path: "Sources/A/X.swift", text: text).pinFindings().isEmpty)
    }
}
