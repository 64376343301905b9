// How the values of an older attribute become values of a newer one: prepared once, for the values of all rows.
//
// Invariants
//   1. An element of a composite continues an older element as a property continues a property (ModelMatch): by its
//      renaming identifier or its name.
//   2. An element has the default value where it is new, and where it must have a value now and has none: as an
//      attribute has.
// Not here: values of one type as values of another one (AttributeDescription+Migration).

/// The conversion of the values of an older attribute to those of a newer one.
package final class AttributeConversion: Sendable {
    /// An element of the newer composite.
    struct Element: Sendable {
        let description: AttributeDescription
        /// The older element that it continues; `nil` = it is new.
        let former: AttributeDescription?
        /// The conversion of that element's values.
        let conversion: AttributeConversion?
        /// The value in composites that have none; null = none.
        let fill: AttributeValue

        init(_ description: AttributeDescription, _ former: AttributeDescription?) {
            (self.description, self.former) = (description, former)
            conversion = former.map { AttributeConversion(from: $0, to: description) }
            let isFilled = former.map { $0.isOptional && !description.isOptional } ?? true
            fill = isFilled ? description.defaultValue : .null
        }

        /// Whether each older value is one of the newer element, with the same bytes under the same name.
        var keepsValues: Bool {
            guard let former, let conversion else { return fill.isNull }
            return fill.isNull && former.name == description.name && conversion.keepsValues
        }
    }

    /// The newer attribute.
    let attribute: AttributeDescription
    /// The elements, if both attributes are composites.
    let elements: [Element]
    /// The older elements that no element continues.
    let gone: [AttributeDescription]
    /// Whether every older value is a value of the newer attribute, with the same bytes.
    package let keepsValues: Bool

    /// Prepares a conversion.
    ///
    /// - Complexity: O(elements).
    package init(from older: AttributeDescription, to newer: AttributeDescription) {
        attribute = newer
        guard older.type == .composite, newer.type == .composite else {
            (elements, gone, keepsValues) = ([], [], older.type == newer.type)
            return
        }
        let positions = newer.continuedElements(of: older)
        let found = zip(newer.elements, positions).map { element, position in
            Element(element, position.map { older.elements[$0] })
        }
        let kept = Set(positions.compactMap(\.self))
        let lost = older.elements.indices.filter { !kept.contains($0) }.map { older.elements[$0] }
        (elements, gone) = (found, lost)
        keepsValues = lost.isEmpty && found.allSatisfy(\.keepsValues)
    }

    /// The value as one of the newer attribute; `nil` if that has no equal.
    ///
    /// - Complexity: O(elements + bytes).
    package func value(of value: AttributeValue) -> AttributeValue? {
        guard attribute.type == .composite, case .composite(let parts) = value else { return attribute.migrated(value) }
        var migrated: [String: AttributeValue] = [:]
        for element in elements {
            guard let former = element.former, let conversion = element.conversion, let part = parts[former.name],
                !part.isNull
            else {
                if !element.fill.isNull { migrated[element.description.name] = element.fill }
                continue
            }
            guard let value = conversion.value(of: part) else { return nil }
            migrated[element.description.name] = value
        }
        return .composite(migrated)
    }

    /// The paths of the elements that must have a value now, and are new or were optional before.
    ///
    /// - Parameter isFilled: whether missing values are filled with defaults, so that elements with one are none of
    ///   these.
    package func requiredElements(isFilled: Bool) -> [[String]] {
        elements.flatMap { element -> [[String]] in
            let (name, value) = (element.description.name, element.description)
            let isNew = !value.isOptional && element.former?.isOptional ?? true
            let own = isNew && !(isFilled && !element.fill.isNull) ? [[name]] : []
            return own + (element.conversion?.requiredElements(isFilled: isFilled).map { [name] + $0 } ?? [])
        }
    }

    /// The paths of the older elements that no element continues.
    package var lostElements: [[String]] {
        let within = elements.flatMap { element -> [[String]] in
            guard let former = element.former, let conversion = element.conversion else { return [] }
            return conversion.lostElements.map { [former.name] + $0 }
        }
        return gone.map { [$0.name] } + within
    }

    /// The paths of the elements that had other names, with those.
    package var renamedElements: [(path: String, formerName: String)] {
        elements.flatMap { element -> [(path: String, formerName: String)] in
            guard let former = element.former, let conversion = element.conversion else { return [] }
            let name = element.description.name
            let own: [(path: String, formerName: String)] = former.name == name ? [] : [(name, former.name)]
            return own + conversion.renamedElements.map { ("\(name).\($0.path)", $0.formerName) }
        }
    }
}

extension AttributeValue {
    /// Whether a composite has no value of the element at a path, although it has those that contain the element.
    package func lacksElement(at path: [String]) -> Bool {
        var value = self
        for name in path {
            guard case .composite(let parts) = value else { return false }
            value = parts[name] ?? .null
        }
        return value.isNull
    }
}
