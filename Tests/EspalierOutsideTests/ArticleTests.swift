// The article on stores of one's own has code that this target compiles and runs.

import Foundation
import Testing

@Suite struct ArticleTests {
    @Test func `the code of the article is that of the folder store, line by line`() throws {
        let here = URL(filePath: #filePath).deletingLastPathComponent()
        let root = here.deletingLastPathComponent().deletingLastPathComponent()
        let article = try String(
            contentsOf: root.appending(path: "Sources/Espalier/Espalier.docc/StoresOfYourOwn.md"), encoding: .utf8)
        let code = try ["FolderSource", "FolderStoreTests"].map {
            try String(contentsOf: here.appending(path: $0 + ".swift"), encoding: .utf8)
        }
        let blocks = article.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }

        #expect(blocks.count == 5)
        for block in blocks {
            #expect(code.contains { $0.contains(block + "\n") }, "no file of the example has:\n\(block)")
        }
    }
}
