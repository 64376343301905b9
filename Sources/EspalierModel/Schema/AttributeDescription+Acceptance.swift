// The values that an attribute accepts: those of its type, and composites whose elements are accepted.

extension AttributeDescription {
    /// Whether `value` can be stored unchanged in this attribute; elements of a composite are checked too (MD-26).
    public func accepts(_ value: AttributeValue) -> Bool {
        guard type.accepts(value) else { return false }
        guard type == .composite, case .composite(let parts) = value else { return true }
        return parts.allSatisfy { name, part in elements.first { $0.name == name }?.accepts(part) ?? false }
    }

    /// `value` converted to this attribute: like `AttributeType.converting`, and for elements of composites too.
    ///
    /// - Throws: `AttributeValueError` if the attribute has no equal value.
    public func converting(_ value: AttributeValue) throws(AttributeValueError) -> AttributeValue {
        guard type == .composite, case .composite(var parts) = value else { return try type.converting(value) }
        for (name, part) in parts.sorted(by: { $0.key < $1.key }) {
            guard let element = elements.first(where: { $0.name == name }) else { throw .unknownElement(name) }
            do { parts[name] = try element.converting(part) } catch { throw .element(name, error) }
        }
        return .composite(parts)
    }
}
