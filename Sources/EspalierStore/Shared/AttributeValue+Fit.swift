// Which values an attribute of a type may hold in a store.

internal import EspalierModel

extension AttributeValue {
    /// Whether a store can keep this value in an attribute like `attribute`. Null always fits: whether it is allowed
    /// is validation, the context's business.
    func fits(_ attribute: AttributeDescription) -> Bool {
        switch (self, attribute.type) {
        case (.null, _): true
        case (.integer(let number), .integer16): Int16(exactly: number) != nil
        case (.integer(let number), .integer32): Int32(exactly: number) != nil
        case (.integer, .integer64), (.decimal, .decimal), (.double, .double), (.float, .float), (.string, .string),
            (.boolean, .boolean), (.date, .date), (.binary, .binary), (.uuid, .uuid), (.uri, .uri),
            (.transformable, .transformable):
            true
        case (.composite(let parts), .composite):
            parts.allSatisfy { name, part in
                attribute.elements.first { $0.name == name }.map(part.fits) ?? false
            }
        default: false
        }
    }
}
