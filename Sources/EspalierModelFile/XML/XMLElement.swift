// The parts of an XML document that model files and property lists use: elements, attributes in order, text.
//
// Invariants
//   1. Attributes keep the order of the file, and their names within an element are distinct.
//   2. Elements are nested at most `XMLReader.depthMax` deep, so recursion over `children` is safe.

/// One attribute of an element.
package struct XMLAttribute {
    package let name: String
    package let value: String
}

/// One element with its attributes, text and children.
package struct XMLElement {
    package let name: String
    package var attributes: [XMLAttribute] = []
    package var children: [XMLElement] = []
    /// The characters between its children, with references replaced.
    package var text = ""
    /// The line on which its tag begins, from 1.
    package let line: Int

    /// The value of an attribute; `nil` if it is missing.
    package subscript(_ name: String) -> String? { attributes.first { $0.name == name }?.value }
}
