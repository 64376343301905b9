// Articles with whole programs are true: each program compiles as it stands there, and prints what the article says.

import Foundation
import TestSupport
import Testing

@Suite struct ExampleTests {
    @Test func `the to-do list compiles as it stands in its article and prints what it says`() throws {
        let path = Checkout.root.appending(path: "Sources/Espalier/Espalier.docc/ToDoList.md")
        let article = try String(contentsOf: path, encoding: .utf8)
        let start = try #require(article.firstRange(of: "It prints:\n\n```\n")).upperBound
        let end = try #require(article[start...].firstRange(of: "```")).lowerBound

        let program = try ExampleProgram(
            firstOf: article, modules: ["EspalierEngine", "EspalierModel", "EspalierStore", "Espalier"])

        try withTemporaryFolder { folder in
            let run = try program.run(in: folder)

            #expect(run == article[start..<end])
            #expect(ToolRun("check", folder.appendingPathComponent("todo.espalier").path).code == 0)
        }
    }
}
