// The scalars that names can contain, in models and in predicates.

extension Unicode.Scalar {
    /// Whether the scalar can begin a name: a letter, or `_`.
    package var beginsName: Bool { self == "_" || (isASCII ? isASCIILetter : properties.isXIDStart) }

    /// Whether the scalar can follow in a name: a letter, a digit, or `_`.
    package var continuesName: Bool { beginsName || (isASCII ? ("0"..."9").contains(self) : properties.isXIDContinue) }

    private var isASCIILetter: Bool { ("a"..."z").contains(self) || ("A"..."Z").contains(self) }
}
