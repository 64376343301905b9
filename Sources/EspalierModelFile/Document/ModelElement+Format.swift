// The format of a model file, which the element `model` names in its attribute `documentVersion`.

extension ModelElement {
    /// The only format that model files are known to have.
    static let documentVersion = "1.0"

    /// A problem if the element `model` names another format; a file that names none has the known one.
    var formatProblem: ModelFileError.Problem? {
        guard let version = text("documentVersion"), Double(version) != Double(Self.documentVersion) else { return nil }
        return ModelFileError.Problem(
            .unsupported(.documentVersion), line: line, element: label,
            "documentVersion=\"\(version.shortened)\" names a format that Espalier does not know, so the words of the "
                + "file may have another meaning; save the model in format \(Self.documentVersion)")
    }
}
