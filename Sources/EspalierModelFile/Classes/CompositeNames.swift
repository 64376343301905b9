// The names that a model file gives to the types of composite attributes: models have the elements only.

/// Finds the name of a composite type in a model file.
package struct CompositeNames: Sendable {
    private let entities: [String: ModelElement]
    private let composites: [String: ModelElement]

    /// The names in a document.
    package init(_ document: ModelDocument) {
        func byName(_ kind: ModelElement.Kind) -> [String: ModelElement] {
            Dictionary(
                document.root.children(kind).map { ($0["name"] ?? "", $0) }, uniquingKeysWith: { first, _ in first })
        }
        (entities, composites) = (byName(.entity), byName(.composite))
    }

    /// The name of the type of an attribute, `Entity.attribute`, or of an element, `Entity.attribute.element`; `nil` if
    /// it is no composite of the document.
    ///
    /// - Complexity: O(attributes of the entity + elements of the composites on the path).
    func name(at path: String) -> String? {
        let steps = path.split(separator: ".").map(String.init)
        guard var owner = steps.first.flatMap({ entities[$0] }) else { return nil }
        var name: String?
        for step in steps.dropFirst() {
            let attribute = owner.children.first { $0.kind == .attribute && $0["name"] == step }
            guard let found = attribute?["composite"], let composite = composites[found] else { return nil }
            (name, owner) = (found, composite)
        }
        return name
    }
}
