// Which values an attribute takes: those of its type, and of a composite one those whose elements take theirs.

extension AttributeDescription {
    /// Whether `value` may be stored as it is in this attribute; elements of a composite are checked too (MD-26).
    public func accepts(_ value: AttributeValue) -> Bool {
        guard type.accepts(value) else { return false }
        guard type == .composite, case .composite(let parts) = value else { return true }
        return parts.allSatisfy { name, part in elements.first { $0.name == name }?.accepts(part) ?? false }
    }

    /// `value` as this attribute holds it: `AttributeType.converting`, elements of a composite included.
    ///
    /// - Throws: `AttributeValueError` if there is no such value.
    public func converting(_ value: AttributeValue) throws(AttributeValueError) -> AttributeValue {
        guard type == .composite, case .composite(var parts) = value else { return try type.converting(value) }
        for (name, part) in parts.sorted(by: { $0.key < $1.key }) {
            guard let element = elements.first(where: { $0.name == name }) else { throw .unknownElement(name) }
            do { parts[name] = try element.converting(part) } catch { throw .element(name, error) }
        }
        return .composite(parts)
    }
}
