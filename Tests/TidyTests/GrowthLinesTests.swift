// Each public operation of the object layer is measured as stores grow, or has a reason not to be.

import Testing

@Suite struct GrowthLinesTests {
    @Test func `each public operation has a line of growth, or a reason for none`() {
        let repository = Repository.current

        expectNone(repository.growthFindings(unmeasured: repository.text(of: Repository.unmeasuredPath) ?? ""))
    }

    /// A product of four operations, of which a case names two.
    private static let repository = Repository(
        paths: [],
        swiftFiles: [
            SourceFile(
                path: "Sources/Espalier/A.swift",
                text: """
                    public final class Shelf {
                        public init() {}
                        public nonmutating func fill() {}
                        public static func sort(_ shelf: Shelf) -> [Int] { [1].map { $0 } }
                        func unseen() {}
                        public func _forMacros() {}
                        public var count: Int { 0 }
                    }
                    extension Outer.Inner {
                        public init(shelf: Shelf) {}
                        public static func == (left: Self, right: Self) -> Bool { true }
                    }
                    """),
            SourceFile(path: "Sources/EspalierModel/B.swift", text: "public func elsewhere() {}"),
            SourceFile(path: "Benchmarks/Sources/bench/GrowthCases.swift", text: "Shelf().fill() // sort, Inner"),
            SourceFile(path: "Benchmarks/Sources/bench/OtherLines.swift", text: "Shelf.sort(Inner())"),
        ])

    @Test func `an operation that no case names is found, with its place`() {
        let findings = Self.repository.growthFindings(unmeasured: "")

        #expect(findings.map(\.path) == ["Sources/Espalier/A.swift", "Sources/Espalier/A.swift"])
        #expect(findings.map(\.line) == [4, 10])
    }

    @Test func `a reason excuses an operation, and one without use or text is found`() {
        let findings = Self.repository.growthFindings(
            unmeasured: """
                # Operations
                | operation | reason |
                | `sort` | it is tested elsewhere |
                | `Inner` | |
                | `fill` | it is measured |
                | `gone` | it is no operation |
                """)

        #expect(findings.map(\.line) == [10, 4, 5, 6])
        #expect(findings.dropFirst().allSatisfy { $0.path == Repository.unmeasuredPath })
    }
}
