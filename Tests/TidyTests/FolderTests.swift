// The folders of a module are layers, in the order that its article lists.

import Testing

@Suite struct FolderTests {
    private func files(_ texts: [(path: String, text: String)]) -> [SourceFile] {
        texts.map { SourceFile(path: "Sources/M/" + $0.path, text: $0.text) }
    }

    @Test func `the folders of a module are layers`() {
        expectNone(Repository.current.folderFindings())
    }

    @Test func `the order of folders is read from the articles`() throws {
        let path = "Sources/Espalier/Espalier.docc/Layers.md"
        let order = LayerList(path: path, text: try #require(Repository.current.text(of: path)))

        #expect(order.ranks["Graph"] ?? Int.max < order.ranks["Fetching"] ?? 0)
        #expect(order.calls["Graph"]?.isEmpty == false)
    }

    @Test func `folders that lead back to each other are found, by way of others too`() {
        let graph = FolderGraph(
            files([
                ("A/One.swift", "struct One { let two: Two }"),
                ("B/Two.swift", "struct Two { let t: Three }"),
                ("C/Three.swift", "extension One {}\nstruct Three {}"),
                ("Top.swift", "let top = One()"),
                ("D/Low.swift", "private struct One {}\nstruct Low { enum Two {} }"),
            ]))

        let findings = graph.circleFindings()
        #expect(findings.map(\.path) == ["A/One.swift", "B/Two.swift", "C/Three.swift"].map { "Sources/M/" + $0 })
        #expect(findings.first?.message == "uses Two of B, which leads back to A")
    }

    @Test(arguments: [
        "let a = Owner.Inner()", "let a: Inner", "extension Owner { func a(_ b: Twice) {} }", "let a: Owner.Twice",
    ])
    func `a type within another type makes its folder needed`(text: String) {
        let graph = FolderGraph(
            files([
                ("Low/Owner.swift", "struct Owner {}"), ("Low/Use.swift", text),
                ("High/Inner.swift", "extension Owner { struct Inner { let o: Owner }\n enum Twice {} }"),
                ("Other/Twice.swift", "struct Other { enum Twice {} }"),
            ]))

        #expect(graph.types["Low"]?.keys.sorted() == ["High"])
        #expect(graph.circleFindings().count == 2)
    }

    @Test(arguments: [
        "let a: Twice", "func a<Inner>(_ inner: Inner) {}", "struct Pair<First, Inner: P> { let i: Inner }",
        "let a = Elsewhere.Inner()", "struct Inner {}\nlet a: Inner", "// Owner.Inner\nlet a = \"Owner.Inner\"",
        "func a() { struct Inner {}; let b: Inner }", "let a: Hidden",
    ])
    func `another type of the same name, and a generic parameter, is none`(text: String) {
        let graph = FolderGraph(
            files([
                ("Low/Use.swift", text),
                ("High/Inner.swift", "extension Owner { struct Inner {}\n enum Twice {} }"),
                ("Other/Twice.swift", "struct Other { enum Twice {} }\nprivate extension Owner { struct Hidden {} }"),
            ]))

        #expect(graph.types["Low"]?.isEmpty != false)
    }

    @Test func `a call of a member that only an extension of a later folder declares is found`() {
        let graph = FolderGraph(
            files([
                ("Low/Owner.swift", "struct Owner { func a() { later(); both(); b(own: 1) } }"),
                ("Low/Both.swift", "func both() {}"),
                ("High/Owner+More.swift", "struct High { let o: Owner }\nextension Owner { func later() {} }"),
                ("High/Owner+Most.swift", "extension Owner { func both() {}\n var own: Int { 1 }\n func up() {} }"),
                ("High/Call.swift", "let a = Owner().up()"),
            ]))

        #expect(graph.callFindings().map(\.message) == ["calls later of High, whose types need Low"])
    }

    @Test func `an order that does not hold is found, and what it lists for nothing`() {
        let graph = FolderGraph(
            files([
                ("Top.swift", "struct Top {}"), ("Low/Low.swift", "struct Low { let m: Middle }"),
                ("Middle/Middle.swift", "struct Middle { func a() { later() } }\nstruct Other { let t: Top }"),
                ("High/Later.swift", "extension Middle { func later() {} }"), ("New/New.swift", "struct New {}"),
            ]))
        let text = """
            # The folders
            1. The files outside of all folders: the
               roots, with `Top`.
            2. `Low` and `Gone`: a
            3. `Middle`: b
            4. `High`: c

            ## Calls upwards
            - `Low` calls `Middle`,
              `High`: they do not.

            ## Another list
            1. `Middle`: of no order
            """
        let order = LayerList(path: "Layers.md", text: text)

        #expect(order.ranks == ["": 1, "Low": 2, "Gone": 2, "Middle": 3, "High": 4])
        #expect(
            order.findings(of: graph).map(\.message) == [
                "Low calls nothing of High", "Low calls nothing of Middle", "New must be in the list",
                "the module has no folder 'Gone'", "Low uses Middle of Middle, a later folder: move one of the two",
                "Middle calls later of High, a later folder: move it, or declare the call in Layers.md",
            ])
    }

    @Test func `a call upwards that the article declares is none`() {
        let graph = FolderGraph(
            files([
                ("Low/Low.swift", "struct Low { func a() { later() } }"),
                ("High/High.swift", "extension Low { func later() {} }"),
            ]))
        let order = LayerList(
            path: "Layers.md", text: "1. `Low`: a\n2. `High`: b\n\n## Calls upwards\n\n- `Low` calls `High`: c\n")

        #expect(order.findings(of: graph).isEmpty)
        #expect(!LayerList(path: "Layers.md", text: "1. `Low`: a\n2. `High`: b\n").findings(of: graph).isEmpty)
    }
}
