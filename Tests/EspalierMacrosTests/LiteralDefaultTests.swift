// Defaults that are literals of other types than the macros know for a type, because the application has made the type
// expressible by them.

import Espalier
public import Foundation
import Testing

extension URL: @retroactive ExpressibleByStringLiteral {
    /// The address that the text is, or the file of this path.
    public init(stringLiteral text: String) { self = URL(string: text) ?? URL(filePath: text) }
}

@Composite struct Imprint: Equatable {
    var page: URL = "https://example.com/imprint"
    var note: String?
}

@Entity final class Bookmark: ManagedObject {
    var link: URL = "https://example.com/a"
    var copy: URL? = "https://example.com/b"
    var none: URL? = nil
    var imprint: Imprint = Imprint()
}

@Suite struct LiteralDefaultTests {
    @Test func `a literal by which the application makes values of a type is the default`() throws {
        let container = try PersistentContainer(
            model: ManagedObjectModel(for: [Bookmark.self]), stores: [.inMemory])
        let bookmark = Bookmark(context: ManagedObjectContext(container.persistentStoreCoordinator))

        #expect(bookmark.link.absoluteString == "https://example.com/a")
        #expect(bookmark.copy?.absoluteString == "https://example.com/b")
        #expect(bookmark.none == nil)
        #expect(bookmark.imprint.page.absoluteString == "https://example.com/imprint")
        let imprint = try #require(Imprint._elements.first)
        guard case .attribute(let page, _, _) = imprint else {
            Issue.record("\(imprint)")
            return
        }
        #expect(page.defaultValue == .uri(Imprint().page))
    }

    @Test func `a literal by which no application makes values of a type is one error, in structs too`() throws {
        let snippet = try Snippet(
            """
            import Espalier
            import Foundation
            @Entity final class Track: ManagedObject {
                var page: URL = "https://example.com" // error: cannot convert value of type 'String'
                var seen: Date? = "today" // error: cannot convert value of type 'String'
                var code: UUID = 5 // error: cannot convert value of type 'Int'
                var bytes: Data = "x" // error: cannot convert value of type 'String'
                var count: Int = [] // error: cannot convert value of type
                var rate: Double? = [:] // error: cannot convert value of type
                var title: String = [1] // error: cannot convert value of type
            }
            @Composite struct Place {
                var page: URL = "https://example.com" // error: cannot convert value of type 'String'
                var count: Int = 0
                var size: Int = [] // error: cannot convert value of type
            }
            """)

        #expect(snippet.isAsExpected, "\(snippet.log)")
    }
}
