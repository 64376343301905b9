// The code of the articles compiles as it stands there: every block that is no part of a program or test of its own is
// put between the lines that it needs around it, and all of them are compiled at once.

import Foundation
import TestSupport
import Testing

@Suite struct ArticleCodeTests {
    /// An article, and for each of its blocks of Swift code the lines around it; `nil` for a manifest and for a
    /// program that another test runs.
    private struct ArticleCode {
        let path: String
        let frames: [(before: String, after: String)?]

        init(_ path: String, _ frames: [(String, String)?]) {
            self.path = path
            self.frames = frames.map { $0.map { (before: $0.0, after: $0.1) } }
        }

        /// The blocks within their lines, each in a namespace of its own.
        func code() throws -> String {
            let text = try String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
            let blocks = text.components(separatedBy: "```swift\n").dropFirst().map {
                $0.components(separatedBy: "\n```")[0]
            }
            try #require(blocks.count == frames.count, "\(path) has \(blocks.count) blocks")
            let name = path.components(separatedBy: "/").last?.prefix { $0.isLetter } ?? ""
            return zip(blocks, frames).enumerated().map { number, pair in
                let (block, frame) = pair
                guard let frame else { return "" }
                // The surroundings import all that is needed.
                let lines = block.split(separator: "\n").filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
                return "enum \(name)\(number) {\n\(frame.before)\n\(lines)\n\(frame.after)\n}"
            }.joined(separator: "\n")
        }
    }

    private static func function(_ parameters: String, _ marks: String = "throws", _ mainActor: String = "") -> (
        String, String
    ) { ("\(mainActor) static func run(\(parameters)) \(marks) {", "}") }

    /// The classes and functions that the blocks use.
    private static let surroundings = """
        import Espalier
        import EspalierCoreData
        import EspalierModelFile
        import Foundation

        @Entity final class Item: ManagedObject { var title: String = "" }
        @Entity final class Person: ManagedObject { var name: String = "" }
        @Entity final class Album: ManagedObject { var title: String = "" }
        @Entity final class Song: ManagedObject { var title: String = "" }
        struct SongPolicy: EntityMigrationPolicy {}
        struct SongList { func update(inserted: Set<ManagedObject>, changed: Set<ManagedObject>) {} }
        actor SongIndex { func update(_ changed: [ObjectID], removing deleted: [ObjectID]) {} }
        func show(_ error: ContextError) {}
        func foldMoodsIntoNames(in context: ManagedObjectContext) throws {}
        """

    private static let articles = [
        ArticleCode(
            "Sources/Espalier/Espalier.docc/Containers.md",
            [
                function("_ url: URL"), function("_ model: ManagedObjectModel", "async throws"),
                function("_ coordinator: PersistentStoreCoordinator, _ store: any PersistentStore"),
                function(
                    "_ model: ManagedObjectModel, _ container: PersistentContainer, "
                        + "_ coordinator: PersistentStoreCoordinator, _ description: PersistentStoreDescription",
                    "throws", "@MainActor"), ("", ""),
                function("_ container: PersistentContainer", "", "@MainActor"),
            ]),
        ArticleCode(
            "Sources/Espalier/Espalier.docc/Espalier.md",
            [function("_ context: ManagedObjectContext, _ id: ObjectID")]),
        ArticleCode("Sources/EspalierCoreData/EspalierCoreData.docc/EspalierCoreData.md", [function("")]),
        ArticleCode(
            "Sources/EspalierModelFile/EspalierModelFile.docc/ModelFiles.md",
            [function("_ url: URL"), function("_ url: URL"), nil]),
        ArticleCode(
            "Sources/EspalierModelFile/EspalierModelFile.docc/EspalierModelFile.md", [function("_ folder: URL")]),
        ArticleCode(
            "Sources/Espalier/Espalier.docc/Migration.md",
            [
                ("", ""), function("_ model: ManagedObjectModel, _ path: String"), function("_ path: String"),
                function("_ first: ManagedObjectModel, _ second: ManagedObjectModel, _ path: String"),
                function(
                    "_ first: ManagedObjectModel, _ second: ManagedObjectModel, _ third: ManagedObjectModel, "
                        + "_ path: String"),
                function("_ first: ManagedObjectModel, _ second: ManagedObjectModel"), function("_ url: URL"),
                function("_ plan: SchemaMigrationPlan, _ path: String"),
            ]),
        ArticleCode(
            "README.md",
            [
                nil,
                function(
                    "_ context: ManagedObjectContext, _ container: PersistentContainer, _ list: SongList, "
                        + "_ index: SongIndex", "async"),
                function("_ context: ManagedObjectContext, _ album: Album"),
            ]),
    ]

    @Test func `every block of code in the articles compiles as it stands there`() throws {
        let code = try Self.articles.map { try $0.code() }
        let snippet = try Snippet(([Self.surroundings] + code).joined(separator: "\n"))

        #expect(snippet.isValid, "\(snippet.log)")
    }
}
