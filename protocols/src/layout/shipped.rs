//! The layouts that come with the product, as they stand in the folder `layouts` of this crate.

/// A layout that comes with the product.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them; each is also an example to start from.
pub const SHIPPED: [Shipped; 4] = [
    Shipped { name: "artdmx", text: include_str!("../../layouts/artdmx.toml") },
    Shipped { name: "bigpacket", text: include_str!("../../layouts/bigpacket.toml") },
    Shipped { name: "tpm2net", text: include_str!("../../layouts/tpm2net.toml") },
    Shipped { name: "wled-dnrgb", text: include_str!("../../layouts/wled-dnrgb.toml") },
];
