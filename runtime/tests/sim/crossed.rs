//! Streams, events and limits together.

use multicore::prelude::*;

use crate::{of, overlap, profile, square};

#[test]
fn a_matmul_with_24_cube_cores_beside_an_add_with_20_vector_cores() {
    for issue in ["eager", "graph"] {
        let records = profile(&format!("sim:910b,dry,issue={issue}"), |device| {
            let (s1, s2) = (device.new_stream()?, device.new_stream()?);
            s1.set_core_limit(CoreLimit::NONE.with_cube(24))?;
            s2.set_core_limit(CoreLimit::NONE.with_vector(20))?;
            let x = square(8192)?;
            let start = device.default_stream().record_event()?;
            s1.wait(&start)?;
            s2.wait(&start)?;
            {
                let _on = s1.enter();
                x.matmul(&x)?;
            }
            let _on = s2.enter();
            x.add(&x)?;
            Ok(())
        });
        let (matmul, add) = (of(&records, "MatMul")[0], of(&records, "Add")[0]);
        assert_eq!((matmul.block_num, add.block_num), (24, 20));
        assert_eq!(overlap(matmul, add), add.duration_ns, "{issue}: the add is hidden");
    }
}
