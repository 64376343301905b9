// Notes texts of developers that stand where a model has no place for them: user info of models and composite types,
// and renaming identifiers and hash modifiers of composite types and fetched properties.

extension ModelConverter {
    mutating func noteTextsWithoutPlace() {
        noteUserInfo(of: root, in: [])
        for composite in root.children(.composite) {
            noteUserInfo(of: composite, in: [])
            noteNames(of: composite, in: [])
        }
        for entity in root.children(.entity) {
            for property in entity.children(.fetchedProperty) { noteNames(of: property, in: [entity]) }
        }
    }

    private mutating func noteUserInfo(of element: ModelElement, in path: [ModelElement]) {
        // Keys that occur twice are a problem here too.
        let keys = userInfo(of: element, in: path + [element]).keys.sorted()
        guard !keys.isEmpty else { return }
        let names = keys.prefix(10).map { "'\($0.shortened)'" }.joined(separator: ", ")
        note(
            .textsWithoutPlace, element, in: path,
            "a model keeps user info of entities and properties only, so \(names) \(keys.count == 1 ? "is" : "are") "
                + "left out")
    }

    private mutating func noteNames(of element: ModelElement, in path: [ModelElement]) {
        for name in ["elementID", "versionHashModifier"] {
            guard let text = element.text(name) else { continue }
            note(
                .textsWithoutPlace, element, in: path,
                "a model keeps \(name) of entities, attributes and relationships only, so '\(text.shortened)' is left "
                    + "out")
        }
    }
}
