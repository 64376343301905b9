// The fixes that the macros offer: the source with all of them compiles.

import Testing

@Suite struct MacroFixTests {
    /// The source after all fixes, which must compile.
    private func fixed(_ source: String, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        let fixed = try Snippet("import Espalier\nimport Foundation\n" + source).fixed
        let snippet = try Snippet(fixed)

        #expect(snippet.isValid, "\(fixed)\n\(snippet.log)", sourceLocation: sourceLocation)
        return fixed
    }

    @Test func `a mark or a modifier that is too much is removed`() throws {
        let text = try fixed(
            """
            @Entity final class Track: ManagedObject {
                @Relationship(deleteRule: .cascade) var a: String
                @Relationship
                @Attribute(.indexed)
                var b: Track?
                @Transient @Relationship var c: Int?
                @Attribute(.indexed) static var d: Int { 0 }
                @Transient
                var e: Int { 0 }
                /// A comment stays.
                @FetchedProperty(where: "a == 'x'") @Attribute(.indexed) var f: [Track]
                weak var g: Track?
                private lazy var h: Int = 0
                @Attribute(.unique) var i: ToMany<Track>
            }
            """)

        for line in [
            "    var a: String\n", "    @Relationship\n    var b: Track?\n", "    @Transient var c: Int?\n",
            "    static var d: Int { 0 }\n    var e: Int { 0 }\n    /// A comment stays.\n",
            "    @FetchedProperty(where: \"a == 'x'\") var f: [Track]\n    var g: Track?\n    private var h: Int = 0\n",
            "    var i: ToMany<Track>\n",
        ] {
            #expect(text.contains(line), "\(line)\n\(text)")
        }
    }

    @Test func `a default that cannot be is removed, and nil makes the property optional`() throws {
        let text = try fixed(
            #"""
            @Entity final class Track: ManagedObject {
                @Attribute(.derived(.canonical(of: \Track.name))) var key: String = ""
                @Attribute(.transformable(by: "Text")) var text: Int? = 3
                @FetchedProperty(where: "name == 'x'") var same: [Track] = []
                var made: Date = Date() // now
                var id: UUID = UUID()
                var name: String = nil
            }
            """#)

        for line in [
            "var key: String\n", "var text: Int?\n", "var same: [Track]\n", "var made: Date // now\n", "var id: UUID\n",
            "var name: String? = nil\n",
        ] {
            #expect(text.contains(line), "\(line)\n\(text)")
        }
    }

    @Test func `several properties in one declaration are declared one by one`() throws {
        let text = try fixed(
            """
            @Entity final class Track: ManagedObject {
                var a: Int = 0, b: String = "x"
                @Attribute(.indexed) public var c, d: Int? // both
            }
            @Composite struct Size { var width: Int, height: Int }
            """)

        for line in [
            "    var a: Int = 0\n    var b: String = \"x\"\n",
            "    @Attribute(.indexed) public var c: Int?\n    @Attribute(.indexed) public var d: Int? // both\n",
        ] {
            #expect(text.contains(line), "\(line)\n\(text)")
        }
    }

    @Test func `what a property or a class lacks is added`() throws {
        let text = try fixed(
            """
            struct Address: Codable {}
            @Composite struct Size { var width = 3 }
            @Entity final class Track: Identifiable {
                var title: String
            }
            @Entity final class Album: ManagedObject {
                var low = -1
                var home = Address()
                var note: String!
            }
            """)

        for line in [
            "final class Track: ManagedObject, Identifiable {", "var low: Int = -1\n",
            "var home: Address = Address()\n",
            "{ var width: Int = 3 }", "var note: String?\n",
        ] {
            #expect(text.contains(line), "\(line)\n\(text)")
        }
    }
}
