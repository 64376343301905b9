// The engine's article is true: its example compiles, runs and prints the output that the article shows.

import Foundation
import TestSupport
import Testing

@Suite struct KeyValueStoreTests {
    @Test func `the example of the engine's article prints what it says`() throws {
        let path = "Sources/EspalierEngine/EspalierEngine.docc/KeyValueStore.md"
        let article = try String(contentsOf: Checkout.root.appending(path: path), encoding: .utf8)
        let start = try #require(article.firstRange(of: "It prints:\n\n```\n")).upperBound
        let end = try #require(article[start...].firstRange(of: "```")).lowerBound

        try withTemporaryFolder { folder in
            let program = try ExampleProgram(firstOf: article, modules: ["EspalierEngine"])
            #expect(try program.run(in: folder) == String(article[start..<end]))
            #expect(ToolRun("check", folder.appendingPathComponent("stock.espalier").path).code == 0)
        }
    }
}
